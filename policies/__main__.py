"""The policy pack `tensorplane`: every rule of `rules/`, mandatory by default."""

import serving_once
from pulumi_policy import EnforcementLevel, PolicyPack
from rules import found

serving_once.install()
PolicyPack(
    name="tensorplane",
    enforcement_level=EnforcementLevel.MANDATORY,
    policies=found(),
)
