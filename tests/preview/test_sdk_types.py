"""What every environment and example asks of a cloud keeps to the types of its SDK, and the check is exact there."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from tensorplane.plugins.preview import check
from tensorplane.plugins.preview.sdk import Sdk
from tests.mutants.places import At, dotted, each_value, put
from tests.preview.cloud_values import STACKS, registered
from tests.preview.conftest import PACKAGES

# Properties that hold whatever their own language says: Azure's templates.
_ANYTHING = frozenset({"template"})


def _find_problems(kind: str, inputs: Mapping[str, Any]) -> list[check.InputProblem]:
    found = Sdk(kind.partition(":")[0]).resource(kind)
    return check.check_inputs(inputs, found.arguments, found.name)


def test_all_clouds_are_among_them() -> None:
    assert {kind.partition(":")[0] for name in STACKS for kind, _ in registered(name)} == set(PACKAGES)


@pytest.mark.parametrize("name", STACKS)
def test_it_keeps_to_the_types_of_its_clouds_sdk(name: str) -> None:
    wrong = [
        f"{kind}: {each.rendered_path}: {each.reason}"
        for kind, inputs in registered(name)
        for each in _find_problems(kind, inputs)
    ]
    assert wrong == []


@pytest.mark.nightly("mutants of every input: 20 s")
@pytest.mark.parametrize("name", STACKS)
def test_no_other_name_and_no_other_kind_of_value_passes(name: str) -> None:
    assert list(_accepted_mutants(name)) == []


def _accepted_mutants(stack: str) -> Iterator[str]:
    """What could be another name or another kind of value in the stack's inputs, and would pass."""
    for kind, inputs in registered(stack):
        mutants = {f"{name}Zz": {**without(inputs, name), f"{name}Zz": inputs[name]} for name in inputs}
        mutants |= {
            dotted(at): changed(inputs, at)
            for at, value in each_value(inputs)
            if not isinstance(value, dict | list) and not _ANYTHING & set(at)
        }
        yield from (f"{kind}: {name}" for name, mutant in mutants.items() if not _find_problems(kind, mutant))


def changed(inputs: Mapping[str, Any], at: At) -> dict[str, Any]:
    """A copy with a map of a list at a place, which no property takes."""
    mutant = copy.deepcopy(dict(inputs))
    put(mutant, at, {"x": ["y"]})
    return mutant


def without(inputs: Mapping[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in inputs.items() if key != name}
