"""The policy pack `tensorplane`: every rule of `rules/`, mandatory by default."""

from pulumi_policy import EnforcementLevel, PolicyPack
from rules import found

import serving_once

serving_once.install()
PolicyPack(
    name="tensorplane",
    enforcement_level=EnforcementLevel.MANDATORY,
    policies=found(),
)
