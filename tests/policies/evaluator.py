"""Reads stacks as JSON lines, writes what a rule reports on each.

Started as `.venv/bin/python tests/policies/evaluator.py`, with the pack's folder on PYTHONPATH as the engine's
host would put it. Rules get the engine's own messages, so that unknown values behave as they do in a preview.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from engine_messages import analyzer_pb2 as messages  # type: ignore[import-not-found]
from rules import found as found_rules  # type: ignore[import-not-found]

ALL = "*"
"""A rule's name: all of them, each with its default configuration."""


def as_engine(value: Any) -> Any:
    """A value as the engine tells it: every number is a float."""
    if isinstance(value, dict):
        return {key: as_engine(each) for key, each in value.items()}
    if isinstance(value, list):
        return [as_engine(each) for each in value]
    # From its text: an integer of 400 digits is infinite then.
    return float(str(value)) if isinstance(value, int) and not isinstance(value, bool) else value


def stack(resources: Sequence[Mapping[str, Any]]) -> list[Any]:
    """The resources as the engine sends them to be judged."""
    made: list[Any] = []
    root = {one["type"]: _urn(one) for one in resources}.get("pulumi:pulumi:Stack", "")
    components: dict[str, str] = {}
    for resource in resources:
        token, name, urn = resource["type"], resource["name"], _urn(resource)
        parent = components.get(resource.get("parent", ""), root if urn != root else "")
        made.append(messages.AnalyzerResource(type=token, urn=urn, name=name, parent=parent))
        made[-1].options.protect = bool(resource.get("protect"))
        if "provider" in resource:
            made[-1].provider.type = "pulumi:providers:" + token.partition(":")[0]
            _fill(made[-1].provider.properties, resource["provider"])
        _fill(made[-1].properties, resource["props"])
        # A component and what it made often have one name: the component came first.
        components.setdefault(name, urn)
    return made


def _urn(resource: Mapping[str, Any]) -> str:
    return f"urn:pulumi:dev::tensorplane::{resource['type']}::{resource['name']}"


def _fill(properties: Any, values: Mapping[str, Any]) -> None:
    """Writes values into a message, also those that are nested more deeply than the rules can read."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(3 * limit)
    properties.update(as_engine(values))
    sys.setrecursionlimit(limit)


def reports(rule: Any, resources: list[Any], config: Mapping[str, Any]) -> list[str]:
    """What a rule reports on the resources."""
    from stack_view.view import View  # type: ignore[import-not-found]  # `mutate` changes it from call to call

    return [message for message, _ in rule.evaluate(View.of_messages(resources), as_engine(config))]


def main() -> None:
    """Answer each line until there are no more."""
    rules = {rule.name: rule for rule in found_rules()}
    for line in sys.stdin:
        case = json.loads(line)
        resources = stack(case["resources"])
        named = list(rules) if case["rule"] == ALL else [case["rule"]]
        config = case["config"]
        answer = {
            name: reports(rules[name], resources, config.get(name, {}) if case["rule"] == ALL else config)
            for name in named
        }
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
