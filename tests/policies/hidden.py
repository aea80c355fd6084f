"""Ways to hide GPUs from the quota, each in a namespace of its own, so that all are judged in one stack."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass

from tests.mutants.places import dotted, each_value, put
from tests.policies.stacks import UNKNOWN_NUMBER, Resource
from tests.policies.test_counted_tricks import COUNTED
from tests.policies.test_mutations import ADDING
from tests.policies.test_operators import OPERATORS, UNBOUNDED
from tests.policies.test_tricks import REFUSED
from tests.policies.test_unseen import UNSEEN


@dataclass(frozen=True)
class Trick:
    """Resources that request GPUs, or may."""

    name: str
    resources: list[Resource]
    gpus: int | None
    """How many are counted; None if the trick is refused because they cannot be."""


def tricks() -> list[Trick]:
    """All of them. What is counted is also tried with each of its numbers hidden until the update."""
    found = [Trick(name, stack, gpus) for group in (COUNTED, OPERATORS) for name, (stack, gpus) in group.items()]
    refused = (REFUSED, UNBOUNDED, ADDING, UNSEEN)
    found += [Trick(name, stack, None) for group in refused for name, (stack, _) in group.items()]
    found += [Trick(f"{one.name}, {path} hidden", stack, None) for one in list(found) for path, stack in _hidden(one)]
    return [_apart(each, f"trick-{number}") for number, each in enumerate(found)]


def _hidden(trick: Trick) -> Iterator[tuple[str, list[Resource]]]:
    """The trick with one of its numbers hidden, by the place of that number."""
    for at, value in each_value(trick.resources) if trick.gpus is not None else ():
        # A request of CPUs hides no GPU.
        if isinstance(value, int | float) and not isinstance(value, bool) and at[-1] != "cpu":
            stack = copy.deepcopy(trick.resources)
            put(stack, at, UNKNOWN_NUMBER)
            yield dotted(at), stack


def _apart(trick: Trick, namespace: str) -> Trick:
    """The trick in its own namespace, under names that no other has."""
    stack = copy.deepcopy(trick.resources)
    for resource in stack:
        resource["name"] = f"{namespace}-{resource['name']}"
        resource["parent"] = f"{namespace}-{resource['parent']}" if resource.get("parent") else ""
        if resource["type"].startswith("kubernetes:"):
            metadata = {**(resource["props"].get("metadata") or {}), "namespace": namespace}
            resource["props"] = {**resource["props"], "metadata": {"name": "x", **metadata}}
    return Trick(trick.name, stack, trick.gpus)
