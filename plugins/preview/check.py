"""Compares inputs with the types that the SDK declares: names, required properties, types, enumerations."""

from __future__ import annotations

import enum
import typing
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tensorplane.plugins.kubernetes import paths
from tensorplane.plugins.kubernetes.values import Secret, Unknown, plain
from tensorplane.plugins.preview import properties
from tensorplane.stack_file.nearest import did_you_mean

_ASSETS = frozenset({"Asset", "Archive"})
_SIGNATURE = "4dabf18193072939515e22adb298388d"  # marks Pulumi's own kinds of value, such as an asset
_MOST_LISTED = 12
_WORDS: dict[Any, str] = {
    str: "a string",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    list: "a list",
    Sequence: "a list",
    dict: "a map",
    Mapping: "a map",
}


@dataclass(frozen=True)
class InputProblem:
    """One problem of a resource's inputs, and its path."""

    path: paths.Path
    reason: str
    certain: bool = True
    """False for an open enumeration, which takes other values too: Azure's enumerations grow without the SDK."""

    @property
    def rendered_path(self) -> str:
        """The path as the engine writes it: `scalingConfig.minSize`."""
        return paths.render(self.path)


def check_inputs(values: Mapping[str, Any], arguments: type, name: str) -> list[InputProblem]:
    """All problems of the inputs of one resource. Unknown values count as correct."""
    return list(_object(values, arguments, (), name, hidden=False))


def check_names(values: Mapping[str, Any], arguments: type, name: str) -> list[InputProblem]:
    """Unknown and missing names only, for values that arrive as JSON in strings (a provider's settings)."""
    known = properties.of(arguments)
    return [*_unknown(values, known, (), name), *_missing(values, known, (), name)]


def _object(
    values: Mapping[str, Any], cls: type, path: paths.Path, name: str, *, hidden: bool
) -> Iterator[InputProblem]:
    known = properties.of(cls)
    yield from _unknown(values, known, path, name)
    yield from _missing(values, known, path, name)
    for key, value in values.items():
        if found := known.get(key):
            yield from _value(value, found.types, (*path, key), hidden)


def _unknown(
    values: Mapping[str, Any], known: Mapping[str, properties.Property], path: paths.Path, name: str
) -> Iterator[InputProblem]:
    for key in values:
        if key not in known and not key.startswith("__"):
            spellings = [each.python_name for each in known.values()] if "_" in key else list(known)
            hint = did_you_mean(key, spellings) or f"; it has {_choices(sorted(known))}"
            yield InputProblem((*path, key), f"{name} has no such property{hint}")


def _missing(
    values: Mapping[str, Any], known: Mapping[str, properties.Property], path: paths.Path, name: str
) -> Iterator[InputProblem]:
    for each in known.values():
        if each.required and plain(values.get(each.name)) is None:
            yield InputProblem((*path, each.name), f"missing; {name} requires it")


def _value(value: Any, options: tuple[Any, ...], path: paths.Path, hidden: bool) -> Iterator[InputProblem]:
    """Compares the value with its best-fitting alternative. A `hidden` value is part of a secret and not shown."""
    if isinstance(value, Secret):
        value, hidden = value.value, True
    if value is None or isinstance(value, Unknown) or not options or _is_asset(value, options):
        return
    if any(_is_enumeration(option) for option in options):
        yield from _enumerated(value, options, path, hidden)
        return
    fitting = [option for option in options if _fits(value, option)]
    if fitting:
        yield from min((list(_inside(value, option, path, hidden)) for option in fitting), key=len)
    else:
        yield InputProblem(path, f"must be {_expected(options)}, not {_kind(value, hidden)}")


def _inside(value: Any, option: Any, path: paths.Path, hidden: bool) -> Iterator[InputProblem]:
    """Problems inside a list or map of the right type."""
    arguments = typing.get_args(option)
    if properties.is_object(option):
        yield from _object(value, option, path, _name(option), hidden=hidden)
    elif isinstance(value, list) and arguments:
        for index, item in enumerate(value):
            yield from _value(item, properties.alternatives(arguments[0]), (*path, index), hidden)
    elif isinstance(value, dict) and arguments:
        for key, item in value.items():
            yield from _value(item, properties.alternatives(arguments[1]), (*path, key), hidden)


def _enumerated(value: Any, options: tuple[Any, ...], path: paths.Path, hidden: bool) -> Iterator[InputProblem]:
    allowed = [member.value for option in options if _is_enumeration(option) for member in option]
    if isinstance(value, dict | list):
        yield InputProblem(path, f"must be one of {_choices(allowed)}, not {_kind(value, hidden)}")
    elif value not in allowed:
        hint = did_you_mean(value, map(str, allowed))
        is_open = any(not _is_enumeration(option) and _fits(value, option) for option in options)
        reason = f"must be one of {_choices(allowed)}, not {_kind(value, hidden)}{hint}"
        yield InputProblem(path, reason, certain=not is_open)


def _is_enumeration(option: Any) -> bool:
    return isinstance(option, type) and issubclass(option, enum.Enum)


def _fits(value: Any, option: Any) -> bool:
    """Whether a value is of a type's kind, regardless of its content."""
    origin = typing.get_origin(option) or option
    if properties.is_object(option) or origin in (dict, Mapping):
        return isinstance(value, dict)
    if origin in (list, Sequence):
        return isinstance(value, list)
    if option is bool or isinstance(value, bool):
        return option is bool and isinstance(value, bool)
    if option is float:
        return isinstance(value, int | float)
    # Values of types that this code does not know are accepted.
    return isinstance(value, option) if option in (str, int) else True


def _is_asset(value: Any, options: tuple[Any, ...]) -> bool:
    return isinstance(value, dict) and _SIGNATURE in value and any(_name(option) in _ASSETS for option in options)


def _expected(options: tuple[Any, ...]) -> str:
    return " or ".join(dict.fromkeys(_type(option) for option in options))


def _type(option: Any) -> str:
    if properties.is_object(option):
        return f"a map of {_name(option)}"
    return _WORDS.get(typing.get_origin(option) or option) or _name(option)


def _name(option: Any) -> str:
    return str(getattr(option, "__name__", option)).removesuffix("Args")


def _kind(value: Any, hidden: bool) -> str:
    if isinstance(value, dict | list):
        return "a map" if isinstance(value, dict) else "a list"
    if hidden:
        return "a secret"
    if isinstance(value, bool):
        return str(value).lower()
    return f"the string {value!r}" if isinstance(value, str) else f"the number {value}"


def _choices(values: Sequence[Any]) -> str:
    more = len(values) - _MOST_LISTED
    return ", ".join(map(str, values[:_MOST_LISTED])) + (f" and {more} more" if more > 0 else "")
