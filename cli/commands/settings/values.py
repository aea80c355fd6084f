"""The allowed values of a field of the settings, and its default, in words."""

from __future__ import annotations

import types
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeAlias, Union, get_args, get_origin

import annotated_types
from pydantic.fields import FieldInfo

from tensorplane.cli.commands.settings.path import SettingsPath
from tensorplane.components.base.family import Variant
from tensorplane.components.base.model import Model, Name, OneOf, RelativePath
from tensorplane.components.base.produced import Produced
from tensorplane.workloads.pods import files as pods_files
from tensorplane.workloads.training_job import settings as training_job_settings

Link: TypeAlias = Callable[[type[Model], SettingsPath], str]
"""Writes a link to a model that the settings mention at a path."""

_WORDS: tuple[tuple[Any, str], ...] = (
    (Name, "name"),
    (RelativePath, "path on the volume"),
    (pods_files.Target, "path in the pod"),
    (pods_files.Source, "file"),
    (training_job_settings.Variable, "variable"),
    (training_job_settings.Text, "text"),
)
"""The names of validated texts. Others are `text`."""
_PLAIN = {str: "text", int: "whole number", float: "number", bool: "`true` or `false`"}
_MOST_CHOICES = 6
"""Choices that fit a table's cell."""


@dataclass(frozen=True)
class Values:
    """The allowed values of a field: a few words, and the choices if they are too many for a table."""

    words: str
    choices: tuple[str, ...] = ()


def of(field: FieldInfo, path: SettingsPath, link: Link) -> Values:
    """The allowed values of a field. Calls `link` for each model that it mentions."""
    # pydantic takes the outermost Annotated apart.
    return _values(Annotated[field.annotation, *field.metadata] if field.metadata else field.annotation, path, link)


def default(field: FieldInfo) -> str:
    """The default of a field."""
    if field.is_required():
        return "required"
    value = field.get_default(call_default_factory=True, validated_data={})
    if isinstance(value, Variant):
        return f"`{{kind: {value.model_dump()['kind']}}}`"
    if isinstance(value, Model):
        return "its defaults"
    if value in (None, {}, (), ""):
        return "none"
    if isinstance(value, tuple):
        return f"`[{', '.join(map(str, value))}]`"
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def kind(model: type[Model]) -> str:
    """The kind of a variant; empty for other models."""
    return str(get_args(model.model_fields["kind"].annotation)[0]) if "kind" in model.model_fields else ""


def _values(annotation: Any, path: SettingsPath, link: Link) -> Values:
    for alias, word in _WORDS:
        if annotation == alias:
            return Values(word)
    origin, args = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        for allowed in args[1:]:
            if isinstance(allowed, OneOf):
                return _one_of([f"`{value}`" for value in allowed.choices], "values")
        inner = _values(args[0], path, link)
        return Values(inner.words + _limits(args[0], args[1:]), inner.choices)
    if origin in (Union, types.UnionType):
        options = [_values(option, path, link) for option in args if not _is_hidden(option)]
        words = " or ".join(option.words for option in options).replace(" or kind ", " or ")
        return Values(words, sum((each.choices for each in options), ()))
    if origin is Literal:
        return _one_of([f"`{value}`" for value in args], "values")
    if origin in (list, tuple):
        inner = _values(args[0], path, link)
        return Values(f"list of {inner.words}", inner.choices)
    if origin is dict:
        key = _values(args[0], path, link).words
        inner = _values(args[1], path.below(f"<{key.split()[0].rstrip(',')}>"), link)
        return Values(f"map: {key} → {inner.words}", inner.choices)
    plain = _PLAIN.get(annotation)
    return Values(plain) if plain else _models(annotation, path, link)


def _one_of(choices: Sequence[str], noun: str) -> Values:
    if len(choices) > _MOST_CHOICES:
        return Values(f"one of {len(choices)} {noun}", tuple(choices))
    return Values(" or ".join(choices))


def _is_hidden(option: Any) -> bool:
    """None is the default column's; an Output is for programs, not for YAML."""
    inner = get_args(option)[0] if get_origin(option) is Annotated else option
    return inner is types.NoneType or (get_origin(inner) or inner) is Produced


def _models(model: type[Model], path: SettingsPath, link: Link) -> Values:
    if not (issubclass(model, Variant) and model.is_family):
        at = path.of_kind(kind(model)) if kind(model) else path
        return Values(f"{'kind ' if kind(model) else ''}{link(model, at)}")
    found = _one_of([link(each, path.of_kind(kind(each))) for each in model.variants.values()], "kinds")
    return found if found.choices else Values(f"kind {found.words}")


def _limits(limited: Any, metadata: tuple[Any, ...]) -> str:
    parts = [part for each in metadata for part in (each.metadata if isinstance(each, FieldInfo) else [each])]
    least = [f"{part.ge:,}" for part in parts if isinstance(part, annotated_types.Ge)]
    above = [f"{part.gt:,}" for part in parts if isinstance(part, annotated_types.Gt)]
    most = [f"{part.le:,}" for part in parts if isinstance(part, annotated_types.Le)]
    if least and most:
        return f", {least[0]} to {most[0]}"
    # Texts are never empty, so a minimum length of 1 is not mentioned for them.
    count = [part.min_length for part in parts if isinstance(part, annotated_types.MinLen) and limited is not str]
    return "".join(
        [
            *(f", at least {number}" for number in least),
            *(f", more than {number}" for number in above),
            *(f", at most {number}" for number in most),
            *(f", at least {number}" for number in count),
        ]
    )
