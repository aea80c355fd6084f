"""What every environment and example asks of a cloud keeps to the types of its SDK, and the check is exact there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from embedded.preview_provider import check
from embedded.preview_provider.sdk import Sdk
from tests.preview.cloud_values import STACKS, registered
from tests.preview.conftest import PACKAGES

# Properties that hold whatever their own language says: Azure's templates.
_ANYTHING = frozenset({"template"})


def _wrong(kind: str, inputs: Mapping[str, Any]) -> list[check.Wrong]:
    found = Sdk(kind.partition(":")[0]).resource(kind)
    return check.inputs(inputs, found.arguments, found.name)


def test_all_clouds_are_among_them() -> None:
    assert {kind.partition(":")[0] for name in STACKS for kind, _ in registered(name)} == set(PACKAGES)


@pytest.mark.parametrize("name", STACKS)
def test_it_keeps_to_the_types_of_its_clouds_sdk(name: str) -> None:
    wrong = [
        f"{kind}: {each.place}: {each.reason}" for kind, inputs in registered(name) for each in _wrong(kind, inputs)
    ]
    assert wrong == []


@pytest.mark.parametrize("name", STACKS)
def test_no_other_name_and_no_other_kind_of_value_passes(name: str) -> None:
    assert list(_accepted_mutants(name)) == []


def _accepted_mutants(stack: str) -> Iterator[str]:
    """What could be another name or another kind of value in the stack's inputs, and would pass."""
    for kind, inputs in registered(stack):
        mutants = {f"{name}Zz": {**without(inputs, name), f"{name}Zz": inputs[name]} for name in inputs}
        mutants |= {str(path): changed(inputs, path) for path in leaves(inputs) if not _ANYTHING & set(path)}
        yield from (f"{kind}: {name}" for name, mutant in mutants.items() if not _wrong(kind, mutant))


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Paths to every value that has no others in it."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inner:
        yield from leaves(item, (*path, key))
    if not isinstance(value, dict | list):
        yield path


def changed(value: Any, path: tuple[Any, ...]) -> Any:
    """A copy with a map of a list at a path, which no property takes."""
    if not path:
        return {"x": ["y"]}
    copy = list(value) if isinstance(value, list) else dict(value)
    copy[path[0]] = changed(copy[path[0]], path[1:])
    return copy


def without(inputs: Mapping[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in inputs.items() if key != name}
