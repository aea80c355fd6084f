"""Runs in the policy pack's own environment: reads stacks as JSON lines, writes what a rule reports on each.

Started as `policies/.venv/bin/python tests/policies/evaluator.py`, with the pack's folder on PYTHONPATH as the engine's
host would put it. It uses pulumi-policy's own classes, so that unknown values behave as they do in a preview.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import Any

from pulumi_policy import (
    PolicyCustomTimeouts,
    PolicyResource,
    PolicyResourceOptions,
    StackValidationArgs,
)
from pulumi_policy.proxy import unknown_checking_proxy
from rules import gpu_quota  # type: ignore[import-not-found]

_OPTIONS = PolicyResourceOptions(False, [], None, [], PolicyCustomTimeouts(0, 0, 0), [])


def _stack(resources: list[Mapping[str, Any]]) -> list[PolicyResource]:
    made: list[PolicyResource] = []
    components: dict[str, PolicyResource] = {}
    for resource in resources:
        token, name = resource["type"], resource["name"]
        urn = f"urn:pulumi:dev::tensorplane::{token}::{name}"
        props = unknown_checking_proxy(resource["props"])
        parent = components.get(resource.get("parent", ""))
        made.append(PolicyResource(token, props, urn, name, _OPTIONS, None, parent, [], {}))
        # A component and what it made often have one name: the component came first.
        components.setdefault(name, made[-1])
    return made


def main() -> None:
    """Answer each line until there are no more."""
    (policy,) = gpu_quota.POLICIES
    for line in sys.stdin:
        case = json.loads(line)
        reports: list[str] = []
        arguments = StackValidationArgs(_stack(case["resources"]), case["config"])
        policy.validate(arguments, lambda message, urn=None, reports=reports: reports.append(message))
        print(json.dumps(reports), flush=True)


if __name__ == "__main__":
    main()
