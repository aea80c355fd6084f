"""The outputs of a resource in a preview: its inputs, and unknown values for what the cloud sets."""

from __future__ import annotations

import typing
from collections.abc import Mapping, Sequence
from typing import Any

from tensorplane.plugins.kubernetes.values import UNKNOWN, Properties, Secret
from tensorplane.plugins.preview import properties

_SIGNATURE = "4dabf18193072939515e22adb298388d"  # marks Pulumi's own kinds of value, such as an asset


def of_new(inputs: Properties, resource: type) -> Properties:
    """The outputs of a new resource."""
    unknown = {each.name: UNKNOWN for each in properties.of(resource).values() if each.required}
    return {**unknown, **_completed(inputs, resource)}


def of_changed(inputs: Properties, olds: Properties, arguments: type, resource: type) -> Properties:
    """The outputs of a changed resource: what the cloud has set stays."""
    takes = properties.of(arguments)
    unchanged = {name: value for name, value in olds.items() if name not in takes}
    autonamed = {name: value for name, value in olds.items() if name in takes and name not in inputs}
    always = {each.name for each in properties.of(resource).values() if each.required}
    return {**{k: v for k, v in autonamed.items() if k in always}, **unchanged, **_completed(inputs, resource)}


def _completed(inputs: Properties, cls: type) -> Properties:
    known = properties.of(cls)
    return {
        name: _value(value, known[name].types) if name in known else value
        for name, value in inputs.items()
        if value is not None
    }


def _value(value: Any, options: tuple[Any, ...]) -> Any:
    if isinstance(value, Secret):
        return Secret(_value(value.value, options))
    for option in options:
        origin, arguments = typing.get_origin(option), typing.get_args(option)
        if isinstance(value, dict) and properties.is_object(option):
            # Types of nested objects do not distinguish computed properties from optional ones, so both are unknown:
            # a program must not mistake "not set" for "does not exist".
            missing = {name: UNKNOWN for name in properties.of(option) if value.get(name) is None}
            return {**_completed(value, option), **missing}
        if isinstance(value, list) and origin in (list, Sequence):
            return [_value(item, properties.alternatives(arguments[0])) for item in value]
        if isinstance(value, dict) and origin in (dict, Mapping):
            return {key: _value(item, properties.alternatives(arguments[1])) for key, item in value.items()}
    # Some inputs have outputs of another type: a list of identities becomes a map with their details.
    return UNKNOWN if options and isinstance(value, dict | list) and _SIGNATURE not in value else value
