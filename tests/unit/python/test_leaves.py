"""A leaf of the settings may be an output of another resource: a stack registers what it does with plain values."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pulumi
import pytest

from tensorplane import stack
from tensorplane.components.base.model import Model
from tensorplane.components.base.problems import Key
from tensorplane.components.base.settings import Settings
from tests.support.rendered_files import rendered_file
from tests.support.rendering import PROJECT, run, settings_of

_NAMES_WHAT_EXISTS = re.compile(r"kind: (aks|eks|gke|ezmeral|nfs|strimzi)\b|\bjwt: |\bkind: storageClass, name: ")
FILES = [
    path
    for path in (*sorted((PROJECT / "examples").glob("*.yaml")), *sorted(PROJECT.glob("Pulumi.*.yaml")))
    if _NAMES_WHAT_EXISTS.search(path.read_text())
]
_OF_THE_RUN = ("image", "env")
"""Leaves of workloads on which the name of a run depends, which an output changes."""


def _leaves(model: Any, tree: Any, at: Key = ()) -> Iterator[Key]:
    """The paths of leaves that take outputs, of those that the settings have."""
    if isinstance(model, Model) and isinstance(tree, Mapping):
        for name, field in type(model).model_fields.items():
            key = field.alias or name
            if key not in tree or (at[:1] == ("workloads",) and key in _OF_THE_RUN):
                continue
            if "Produced" in repr(field.annotation) or "_OnceKnown" in repr(field.metadata):
                yield from _texts(tree[key], (*at, key))
            else:
                yield from _leaves(getattr(model, name), tree[key], (*at, key))
    elif isinstance(model, Mapping) and isinstance(tree, Mapping):
        for key, each in model.items():
            yield from _leaves(each, tree.get(key), (*at, key))
    elif isinstance(model, list | tuple) and isinstance(tree, list):
        for index, (each, part) in enumerate(zip(model, tree, strict=False)):
            yield from _leaves(each, part, (*at, str(index)))


def _texts(tree: Any, at: Key) -> Iterator[Key]:
    if isinstance(tree, str):
        yield at
    elif isinstance(tree, Mapping):
        for key, each in tree.items():
            yield from _texts(each, (*at, key))
    elif isinstance(tree, list):
        for index, each in enumerate(tree):
            yield from _texts(each, (*at, str(index)))


def _with_outputs(tree: Any, leaves: frozenset[Key], at: Key = ()) -> Any:
    if at in leaves:
        return pulumi.Output.from_input(tree)
    if isinstance(tree, Mapping):
        return {key: _with_outputs(each, leaves, (*at, key)) for key, each in tree.items()}
    if isinstance(tree, list):
        return [_with_outputs(each, leaves, (*at, str(index))) for index, each in enumerate(tree)]
    return tree


def _found(path: Path) -> frozenset[Key]:
    settings = settings_of(path)
    return frozenset(_leaves(stack.load(settings).config, settings.tree))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_outputs_register_what_plain_values_do(path: Path) -> None:
    settings, leaves = settings_of(path), _found(path)
    assert leaves

    def program() -> Mapping[str, Any]:
        return stack.build(stack.load(Settings(_with_outputs(settings.tree, leaves), settings.secret)))

    plain, with_outputs = rendered_file(path).resources, run(program).resources
    before = {(one.type, one.name): one.inputs for one in plain}
    after = {(one.type, one.name): one.inputs for one in with_outputs}
    assert after.keys() == before.keys()
    differing = {key: (before[key], after[key]) for key in before if before[key] != after[key]}
    assert differing == {}, leaves
