"""Enumerations of Azure's own clients, azure-mgmt-*. Those of Pulumi's SDK have the same names and may be older."""

from __future__ import annotations

import ast
import functools
import typing
from collections.abc import Iterator, Mapping
from dataclasses import replace
from enum import Enum
from typing import Any

from tensorplane.plugins.cloud_models import package
from tensorplane.plugins.cloud_models.pairs import Pair
from tensorplane.plugins.cloud_models.shape import Limits, Parameters
from tensorplane.plugins.kubernetes.values import Secret, Unknown
from tensorplane.plugins.preview import properties

PREFIX = "azure-mgmt-"


def pairs(values: Mapping[str, Any], arguments: type) -> Iterator[Pair]:
    """The values of a resource, each with the enumeration that its property has in both SDKs."""
    yield from _object(Pair((), "", values, None, ""), arguments)


def installed(module: str) -> str:
    """The package with the enumerations of a module such as `containerservice`, and its version; empty without one."""
    return package.source(f"{PREFIX}{module}")


@functools.cache
def enumerations(module: str) -> Mapping[str, tuple[str, ...]]:
    """Values by the enumeration's name. Read as text: importing the package would take Azure's core libraries."""
    if not installed(module):
        return {}
    file = package.folder(f"{PREFIX}{module}") / "models" / "_enums.py"
    classes = (node for node in ast.parse(file.read_text()).body if isinstance(node, ast.ClassDef))
    return {found.name: tuple(_values(found)) for found in classes}


def _values(found: ast.ClassDef) -> Iterator[str]:
    for statement in found.body:
        if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Constant):
            yield str(statement.value.value)


def _object(owner: Pair, cls: type) -> Iterator[Pair]:
    known = properties.of(cls)
    for key, value in owner.value.items():
        if found := known.get(key):
            name = f"{owner.input}.{key}".lstrip(".")
            yield from _value(replace(owner, path=(*owner.path, key), input=name, value=value), found.types)


def _value(pair: Pair, options: tuple[Any, ...]) -> Iterator[Pair]:
    value = pair.value
    if isinstance(value, Secret):
        yield from _value(replace(pair, value=value.value, hidden=True), options)
    elif isinstance(value, dict) and (inner := next(filter(properties.is_object, options), None)):
        yield from _object(pair, inner)
    elif isinstance(value, dict | list):
        inside = [arguments[-1] for option in options if (arguments := typing.get_args(option))]
        types = properties.alternatives(inside[0]) if inside else ()
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _value(replace(pair, path=(*pair.path, key), value=item), types)
    elif value is not None and not isinstance(value, Unknown):
        yield replace(pair, shape=Parameters(limits=_limits(options), is_logical=isinstance(value, bool)))


def _limits(options: tuple[Any, ...]) -> Limits:
    found = next((option for option in options if isinstance(option, type) and issubclass(option, Enum)), None)
    if found is None:
        return Limits()
    module = found.__module__.split(".")[1]
    own = enumerations(module).get(found.__name__, ())
    # Both: Pulumi's may use an older version of the API, which has values that the newer one lacks.
    return Limits(allowed=tuple(dict.fromkeys([*own, *(str(member.value) for member in found)]))) if own else Limits()
