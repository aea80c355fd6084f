"""Runs in the policy pack's own environment: reads stacks as JSON lines, writes what a rule reports on each.

Started as `policies/.venv/bin/python tests/policies/evaluator.py`, with the pack's folder on PYTHONPATH as the engine's
host would put it. It uses pulumi-policy's own classes, so that unknown values behave as they do in a preview.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from typing import Any

from pulumi_policy import (
    Policy,
    PolicyCustomTimeouts,
    PolicyResource,
    PolicyResourceOptions,
    StackValidationArgs,
)
from pulumi_policy.proxy import unknown_checking_proxy
from rules import found as found_rules  # type: ignore[import-not-found]

ALL = "*"
"""A rule's name: all of them, each with its default configuration."""


def told(value: Any) -> Any:
    """A value as the engine tells it: every number is a float."""
    if isinstance(value, dict):
        return {key: told(each) for key, each in value.items()}
    if isinstance(value, list):
        return [told(each) for each in value]
    # From its text: an integer of 400 digits is infinite then.
    return float(str(value)) if isinstance(value, int) and not isinstance(value, bool) else value


def stack(resources: Iterable[Mapping[str, Any]]) -> list[PolicyResource]:
    """The resources as the engine hands them to a stack policy."""
    made: list[PolicyResource] = []
    components: dict[str, PolicyResource] = {}
    for resource in resources:
        token, name = resource["type"], resource["name"]
        urn = f"urn:pulumi:dev::tensorplane::{token}::{name}"
        props = unknown_checking_proxy(told(resource["props"]))
        parent = components.get(resource.get("parent", ""))
        options = PolicyResourceOptions(bool(resource.get("protect")), [], None, [], PolicyCustomTimeouts(0, 0, 0), [])
        made.append(PolicyResource(token, props, urn, name, options, None, parent, [], {}))
        # A component and what it made often have one name: the component came first.
        components.setdefault(name, made[-1])
    return made


def reports(policy: Policy, resources: list[PolicyResource], config: Mapping[str, Any]) -> list[str]:
    """What a rule reports on the resources."""
    found: list[str] = []
    args = StackValidationArgs(resources, told(config))
    policy.validate(args, lambda message, urn=None: found.append(message if urn else ""))
    return found


def main() -> None:
    """Answer each line until there are no more."""
    policies = {policy.name: policy for policy in found_rules()}
    for line in sys.stdin:
        case = json.loads(line)
        resources = stack(case["resources"])
        named = list(policies) if case["rule"] == ALL else [case["rule"]]
        config = case["config"]
        answer = {
            name: reports(policies[name], resources, config.get(name, {}) if case["rule"] == ALL else config)
            for name in named
        }
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
