"""`tensorplane settings`: every key of the stack's settings as pages of Markdown, from the models that check them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import NamedTuple, TypeAlias

from pydantic.fields import FieldInfo

from tensorplane.cli.commands.settings import values
from tensorplane.cli.commands.settings.path import INDEX, SettingsPath
from tensorplane.components.base import field_docs
from tensorplane.components.base.family import Variant
from tensorplane.components.base.model import Model
from tensorplane.stack import StackConfig

_Known: TypeAlias = dict[type[Model], SettingsPath]
"""Each model that has a section, and where the settings first mention it."""
_MOST_CELL_CHARACTERS = 120
"""Characters of a description that fit a table's cell. Of a longer one, the cell has the first sentence."""
_END_OF_SENTENCE = re.compile(r"(?<=[.;])\s+")


def pages() -> dict[str, str]:
    """The pages by name, the index first: a section per model, each before the models that it mentions."""
    known: _Known = {StackConfig: SettingsPath()}
    ordered = list(_models_below(StackConfig, known))
    paths = _distinct(known)
    written: dict[str, list[str]] = {INDEX: []}
    for model in ordered:
        page = known[model].page

        def link(target: type[Model], _: SettingsPath, page: str = page) -> str:
            at = known[target].page
            return f"[{values.kind(target) or 'settings'}]({'' if at == page else f'{at}.md'}#{paths[target].anchor})"

        written.setdefault(page, []).append(_section(model, paths[model], link))
    return {page: "\n\n".join(sections) + "\n" for page, sections in written.items()}


def _models_below(model: type[Model], known: _Known) -> Iterator[type[Model]]:
    """The model, then those that it is the first to mention, each with those below it."""
    mentioned: _Known = {}

    def note(found: type[Model], path: SettingsPath) -> str:
        if found not in known:
            mentioned[found] = known[found] = path
        return ""

    for field in _fields(model):
        values.of(field.info, known[model].below(field.key), note)
    yield model
    for each in mentioned:
        yield from _models_below(each, known)


def _distinct(known: _Known) -> Mapping[type[Model], SettingsPath]:
    """The paths, with a kind only at variants and where it distinguishes headings."""
    sections = Counter(path.path for path in known.values())
    return {
        model: path if values.kind(model) or sections[path.path] > 1 else path.of_kind("")
        for model, path in known.items()
    }


def _section(model: type[Model], path: SettingsPath, link: values.Link) -> str:
    title = [f"## {path.title}", _escaped(" ".join((model.__doc__ or "").split()))]
    if issubclass(model, Variant) and model.untried:
        title.append(f"*{model.untried}*")
    rows, notes = ["| key | value | default | meaning |", "|---|---|---|---|"], []
    for field in _fields(model):
        allowed = values.of(field.info, path, link)
        summary, more = _summary(field.meaning)
        cells = (f"`{field.key}`", allowed.words, values.default(field.info), summary)
        rows.append(f"| {' | '.join(map(_escaped, cells))} |")
        if more or allowed.choices:
            one_of = f"One of {', '.join(allowed.choices)}." if allowed.choices else ""
            notes.append(f"- `{field.key}`: {_escaped(' '.join(filter(None, (more, one_of))))}")
    parts = [*title, "\n".join(rows)] if len(rows) > 2 else [*title, "It has no keys."]
    return "\n\n".join([*parts, "\n".join(notes)] if notes else parts)


class _Field(NamedTuple):
    key: str
    """Its name in YAML."""
    info: FieldInfo
    meaning: str


def _fields(model: type[Model]) -> list[_Field]:
    """The keys that a user sets. `kind` is in the heading."""
    return [
        _Field(str(info.alias), info, " ".join(field_docs.docstring(model, name).split()))
        for name, info in model.model_fields.items()
        if name != "kind"
    ]


def _summary(meaning: str) -> tuple[str, str]:
    """The text in the table's cell, and the text below the table."""
    if len(meaning) <= _MOST_CELL_CHARACTERS:
        return meaning, ""
    first, *rest = _END_OF_SENTENCE.split(meaning)
    # The part after a semicolon becomes a sentence below the table.
    more = " ".join(rest)
    return first.removesuffix(";") + ("." if first.endswith(";") else ""), more[:1].upper() + more[1:]


def _escaped(text: str) -> str:
    # Between backticks Markdown shows angle brackets as they are; elsewhere they would be HTML.
    parts = text.replace("|", "\\|").split("`")
    return "`".join(
        part if index % 2 else part.replace("<", "&lt;").replace(">", "&gt;") for index, part in enumerate(parts)
    )
