"""`tensorplane settings`: every key of the stack's settings as Markdown, from the models that check them."""

from __future__ import annotations

import types
from collections.abc import Iterator
from typing import Annotated, Any, Literal, Union, get_args, get_origin

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


def render() -> str:
    """The whole reference: a section per model, each before the models that it mentions."""
    return "\n\n".join(_sections(StackConfig, _ROOT, {StackConfig: _ROOT})) + "\n"


def _sections(model: type[Model], path: str, known: dict[type[Model], str]) -> Iterator[str]:
    """The model's section, then those of the models that it is the first to mention."""
    before = set(known)
    yield from _section(model, path, known)
    for found, at in [(found, at) for found, at in known.items() if found not in before]:
        yield from _sections(found, at, known)


def _section(model: type[Model], path: str, known: dict[type[Model], str]) -> Iterator[str]:
    yield f"## {_title(model, path)}"
    yield _cell(" ".join((model.__doc__ or "").split()))
    rows = [
        f"| `{field.alias}` | {_cell(_values(_annotated(field), _below(path, field), known))} "
        f"| {_cell(_default(field))} | {_cell(' '.join(meaning.of(model, name).split()))} |"
        for name, field in model.model_fields.items()
        if name != "kind"
    ]
    yield "\n".join(["| key | value | default | meaning |", "|---|---|---|---|", *rows]) if rows else "It has no keys."


def _title(model: type[Model], path: str) -> str:
    kind = model.model_fields.get("kind")
    return f"`{path}`, kind {kind.default}" if kind else f"`{path}`"


def _below(path: str, field: FieldInfo) -> str:
    return f"{path}.{field.alias}" if path != _ROOT else str(field.alias)


def _annotated(field: FieldInfo) -> Any:
    # pydantic takes the outermost Annotated apart.
    return Annotated[field.annotation, *field.metadata] if field.metadata else field.annotation


def _values(annotation: Any, path: str, known: dict[type[Model], str]) -> str:
    for alias, word in _WORDS:
        if annotation == alias:
            return word
    origin, args = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _values(args[0], path, known) + _limits(args[0], args[1:])
    if origin in (Union, types.UnionType):
        return " or ".join(_values(option, path, known) for option in args if not _is_hidden(option))
    if origin is Literal:
        return " or ".join(f"`{value}`" for value in args)
    if origin in (list, tuple):
        return f"list of {_values(args[0], path, known)}"
    if origin is dict:
        key = _values(args[0], path, known)
        return f"map: {key} → {_values(args[1], f'{path}.<{key.split()[0]}>', known)}"
    return _PLAIN.get(annotation) or _models(annotation, path, known)


def _is_hidden(option: Any) -> bool:
    """None is the default column's; an Output is for programs, not for YAML."""
    inner = get_args(option)[0] if get_origin(option) is Annotated else option
    return inner is types.NoneType or (get_origin(inner) or inner) is pulumi.Output


def _models(model: type[Model], path: str, known: dict[type[Model], str]) -> str:
    is_family = issubclass(model, Variant) and model.is_family
    choices = list(model.variants.values()) if issubclass(model, Variant) and is_family else [model]
    links = []
    for choice in choices:
        at = known.setdefault(choice, path)
        shown = f"kind {choice.model_fields['kind'].default}" if "kind" in choice.model_fields else "settings"
        links.append(f"[{shown}](#{_anchor(_title(choice, at))})")
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
