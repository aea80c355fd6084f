"""`tensorplane settings`: every key of the stack's settings as Markdown, from the models that check them."""

from __future__ import annotations

import types
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal, TypeAlias, Union, get_args, get_origin

import annotated_types
import pulumi
from pydantic.fields import FieldInfo

from components import meaning
from components.family import Variant
from components.model import Model, Name, RelativePath
from stack import StackConfig
from workloads import files, training_job

_WORDS: tuple[tuple[Any, str], ...] = (
    (Name, "name"),
    (RelativePath, "path on the volume"),
    (files.Target, "path in the pod"),
    (files.Source, "file"),
    (training_job.Variable, "variable"),
    (training_job.Text, "text"),
)
"""What a checked text is called. The other texts are `text`."""
_ROOT = "tensorplane"
_PLAIN = {str: "text", int: "whole number", float: "number", bool: "`true` or `false`"}


@dataclass(frozen=True)
class _Place:
    """Where a model stands in the settings."""

    path: str
    kind: str = ""
    """The kind of the variant that it belongs to, where another variant has other keys at the same path."""

    def title(self, model: type[Model]) -> str:
        kind = model.model_fields["kind"].default if "kind" in model.model_fields else self.kind
        return f"`{self.path}`, kind {kind}" if kind else f"`{self.path}`"

    def below(self, key: str) -> _Place:
        return replace(self, path=key if self.path == _ROOT else f"{self.path}.{key}")


_Known: TypeAlias = dict[type[Model], _Place]
"""Each model that has a section, and where the settings first mention it."""


def render() -> str:
    """The whole reference: a section per model, each before the models that it mentions."""
    known: _Known = {StackConfig: _Place(_ROOT)}
    ordered = list(_models_below(StackConfig, known))
    # Headings differ, so that each can be linked to: what only one variant has needs its kind to tell it from others'.
    repeated = Counter(place.path for model, place in known.items() if "kind" not in model.model_fields)
    titled = {m: place if repeated[place.path] > 1 else replace(place, kind="") for m, place in known.items()}
    return "\n\n".join(section for model in ordered for section in _section(model, titled)) + "\n"


def _models_below(model: type[Model], known: _Known) -> Iterator[type[Model]]:
    """The model, then those that it is the first to mention, each with those below it."""
    before = set(known)
    list(_section(model, known))
    yield model
    for found in [found for found in known if found not in before]:
        yield from _models_below(found, known)


def _section(model: type[Model], known: _Known) -> Iterator[str]:
    place = known[model]
    yield f"## {place.title(model)}"
    yield _cell(" ".join((model.__doc__ or "").split()))
    inside = replace(place, kind=model.model_fields["kind"].default) if "kind" in model.model_fields else place
    rows = [
        f"| `{field.alias}` | {_cell(_values(_annotated(field), inside.below(str(field.alias)), known))} "
        f"| {_cell(_default(field))} | {_cell(' '.join(meaning.of(model, name).split()))} |"
        for name, field in model.model_fields.items()
        if name != "kind"
    ]
    yield "\n".join(["| key | value | default | meaning |", "|---|---|---|---|", *rows]) if rows else "It has no keys."


def _annotated(field: FieldInfo) -> Any:
    # pydantic takes the outermost Annotated apart.
    return Annotated[field.annotation, *field.metadata] if field.metadata else field.annotation


def _values(annotation: Any, place: _Place, known: _Known) -> str:
    for alias, word in _WORDS:
        if annotation == alias:
            return word
    origin, args = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _values(args[0], place, known) + _limits(args[0], args[1:])
    if origin in (Union, types.UnionType):
        return " or ".join(_values(option, place, known) for option in args if not _is_hidden(option))
    if origin is Literal:
        return " or ".join(f"`{value}`" for value in args)
    if origin in (list, tuple):
        return f"list of {_values(args[0], place, known)}"
    if origin is dict:
        key = _values(args[0], place, known)
        return f"map: {key} → {_values(args[1], place.below(f'<{key.split()[0]}>'), known)}"
    return _PLAIN.get(annotation) or _models(annotation, place, known)


def _is_hidden(option: Any) -> bool:
    """None is the default column's; an Output is for programs, not for YAML."""
    inner = get_args(option)[0] if get_origin(option) is Annotated else option
    return inner is types.NoneType or (get_origin(inner) or inner) is pulumi.Output


def _models(model: type[Model], place: _Place, known: _Known) -> str:
    is_family = issubclass(model, Variant) and model.is_family
    choices = list(model.variants.values()) if issubclass(model, Variant) and is_family else [model]
    links = []
    for choice in choices:
        at = known.setdefault(choice, place)
        shown = f"kind {choice.model_fields['kind'].default}" if "kind" in choice.model_fields else "settings"
        links.append(f"[{shown}](#{_anchor(at.title(choice))})")
    return " or ".join(links)


def _anchor(title: str) -> str:
    """The name under which GitHub's renderer knows a heading."""
    return "".join(c for c in title.lower().replace(" ", "-") if c.isalnum() or c in "-_")


def _limits(limited: Any, metadata: tuple[Any, ...]) -> str:
    parts = [part for each in metadata for part in (each.metadata if isinstance(each, FieldInfo) else [each])]
    low = [_low(part) for part in parts if isinstance(part, annotated_types.Ge | annotated_types.Gt)]
    high = [f"at most {part.le:,}" for part in parts if isinstance(part, annotated_types.Le)]
    least = [
        "not empty" if limited is str and part.min_length == 1 else f"at least {part.min_length}"
        for part in parts
        if isinstance(part, annotated_types.MinLen)
    ]
    return "".join(f", {text}" for text in (*low, *high, *least))


def _low(part: annotated_types.Ge | annotated_types.Gt) -> str:
    return f"at least {part.ge}" if isinstance(part, annotated_types.Ge) else f"more than {part.gt}"


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    value = field.get_default(call_default_factory=True, validated_data={})
    if isinstance(value, Variant):
        return f"`{{kind: {value.model_dump()['kind']}}}`"
    if isinstance(value, Model):
        return "its defaults"
    if value in (None, {}, ()):
        return "none"
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def _cell(text: str) -> str:
    # Between backticks Markdown shows angle brackets as they are; elsewhere they would be HTML.
    parts = text.replace("|", "\\|").split("`")
    return "`".join(
        part if index % 2 else part.replace("<", "&lt;").replace(">", "&gt;") for index, part in enumerate(parts)
    )
