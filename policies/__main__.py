"""The policy pack `tensorplane`: every rule of `rules/`, mandatory by default."""

import serving_once
from pulumi_policy import EnforcementLevel, PolicyPack
from rules import found

policies = found()
serving_once.install(policies)
PolicyPack(
    name="tensorplane",
    enforcement_level=EnforcementLevel.MANDATORY,
    policies=policies,
)
