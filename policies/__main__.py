"""The policy pack `tensorplane`: every rule of `rules/`, mandatory unless a rule says otherwise."""

from pulumi_policy import EnforcementLevel, PolicyPack
from rules import found

PolicyPack(
    name="tensorplane",
    enforcement_level=EnforcementLevel.MANDATORY,
    policies=found(),
)
