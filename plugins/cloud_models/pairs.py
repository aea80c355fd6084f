"""Puts each value of a resource's inputs beside its type in the cloud's API."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from tensorplane.plugins.cloud_models import names
from tensorplane.plugins.cloud_models.shape import Shape
from tensorplane.plugins.kubernetes import paths
from tensorplane.plugins.kubernetes.values import Secret, Unknown


@dataclass(frozen=True)
class Pair:
    """A value, and its counterpart's type if there is one."""

    path: paths.Path
    input: str
    """The path without indices and keys of maps: `nodeConfig.labels`."""
    value: Any
    shape: Shape | None
    member: str
    """The counterpart's path in the API, such as `scalingConfig.minSize`; empty without one."""
    hidden: bool = False
    """Whether the value is part of a secret, so that no message may show it."""


@dataclass(frozen=True)
class Pairing:
    """How the inputs of one type of resource are paired."""

    resource: str
    exceptions: names.Names

    def of(self, values: Mapping[str, Any], shape: Shape | None) -> Iterator[Pair]:
        """All values, lists and maps included, without unknown and absent ones. `shape`: None without a model."""
        for key, value in values.items():
            if not key.startswith("__"):
                yield from self._input(key, value, Pair((), "", values, shape, ""), name_of=self.resource)

    def _input(self, key: str, value: Any, owner: Pair, name_of: str = "") -> Iterator[Pair]:
        name = f"{owner.input}.{key}".lstrip(".")
        exception = self.exceptions.get(name)
        found: tuple[str, Shape] | None = None
        if owner.shape is not None and exception is None:
            found = names.member(key, owner.shape, name_of)
        elif owner.shape is not None and exception:
            at = names.at(exception, owner.shape)
            found = (exception, at) if at else None
        member = f"{owner.member}.{found[0]}".lstrip(".") if found else ""
        shape = found[1] if found else None
        yield from self._value(Pair((*owner.path, key), name, value, shape, member, owner.hidden))

    def _value(self, pair: Pair) -> Iterator[Pair]:
        if isinstance(pair.value, Secret):
            pair = replace(pair, value=pair.value.value, hidden=True)
        if pair.value is None or isinstance(pair.value, Unknown):
            return
        if isinstance(pair.value, dict):
            yield from self._map(pair)
        elif isinstance(pair.value, list):
            yield from self._list(pair)
        else:
            # Terraform writes some lists of one item without the list.
            yield replace(pair, shape=(pair.shape and pair.shape.item()) or pair.shape)

    def _list(self, pair: Pair) -> Iterator[Pair]:
        item = pair.shape.item() if pair.shape else None
        if item:
            yield pair
        for index, value in enumerate(pair.value):
            # The API may have one where Terraform repeats a block.
            yield from self._value(replace(pair, path=(*pair.path, index), value=value, shape=item or pair.shape))

    def _map(self, pair: Pair) -> Iterator[Pair]:
        shape = pair.shape
        if shape and (entry := shape.entry()):
            yield pair
            yield from self._entries(pair, *entry)
        elif shape and (tag := _tag(shape, pair.value)):
            yield from self._entries(pair, *tag)
        elif pair.input in self.exceptions and shape is None:
            # What is not in the API has no names there.
            for key, value in pair.value.items():
                yield from self._value(replace(pair, path=(*pair.path, key), value=value))
        else:
            inner = replace(pair, shape=(shape and shape.item()) or shape)
            for key, value in pair.value.items():
                if not key.startswith("__"):
                    yield from self._input(key, value, inner)

    def _entries(self, pair: Pair, key: Shape | None, value: Shape) -> Iterator[Pair]:
        for name, item in pair.value.items():
            inner = replace(pair, path=(*pair.path, name))
            if key:
                yield replace(inner, value=name, shape=key, member=f"{pair.member}.key")
            yield from self._value(replace(inner, value=item, shape=value, member=f"{pair.member}.value"))


def _tag(shape: Shape, value: Mapping[str, Any]) -> tuple[Shape, Shape] | None:
    """Key and value of the API's list of tags, where Pulumi has a map."""
    members = (item := shape.item()) and {name.lower(): member for name, member in item.members().items()}
    if members and members.keys() == {"key", "value"} and not value.keys() & {"key", "value", "Key", "Value"}:
        return members["key"], members["value"]
    return None
