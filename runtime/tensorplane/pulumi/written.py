"""Arguments of Python as settings of YAML, and settings as the stack's outputs keep them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

from pydantic.alias_generators import to_camel

from tensorplane.components.base.model import Model
from tensorplane.components.base.produced import Produced


def tree(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Named arguments as a map of YAML. One that is None counts as left out."""
    return {to_camel(key): _written(value) for key, value in arguments.items() if value is not None}


def _written(value: Any) -> Any:
    """A value as YAML has it. Outputs stay as they are."""
    if isinstance(value, Model):
        fields = type(value).model_fields
        given = {name: getattr(value, name) for name in fields if name in value.model_fields_set or name == "kind"}
        return {fields[name].alias or name: _written(each) for name, each in given.items()}
    if isinstance(value, Mapping):
        return {key: _written(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_written(each) for each in value]
    return str(value) if isinstance(value, PurePath) else value


def without_outputs(value: Any) -> Any:
    """Settings that a file can have: what other resources produce is as encrypted values are in a stack's file."""
    if isinstance(value, Produced):
        return {"secure": ""}
    if isinstance(value, Mapping):
        return {str(key): without_outputs(each) for key, each in value.items()}
    return [without_outputs(each) for each in value] if isinstance(value, list | tuple) else value
