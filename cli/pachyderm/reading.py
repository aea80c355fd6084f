"""Reads files of pipeline specs: JSON or YAML, several documents, lists."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from tensorplane.cli.pachyderm.spec import Spec
from tensorplane.core.errors import UserError

_BETWEEN = re.compile(r"(\s|^---.*$)+", re.MULTILINE)
_PLACEHOLDER = re.compile(r"\$\{?[A-Za-z_]|\{\{")


def read(files: list[Path]) -> list[Spec]:
    """The specs of all files, in order. A UserError with a line for each problem."""
    found: list[Spec] = []
    problems: list[str] = []
    for file in files:
        try:
            documents = list(_documents(file))
        except UserError as error:
            problems += error.lines
            continue
        if not documents:
            problems.append(f"{file.name}: has no pipeline spec; name files that `pachctl create pipeline` takes")
        for number, document in enumerate(documents, 1):
            at = file.name if len(documents) == 1 else f"{file.name}, document {number}"
            try:
                found.append(_spec(document, at))
            except UserError as error:
                problems += error.lines
    names = [(spec.project, spec.name) for spec in found]
    twice = sorted({name for project, name in names if names.count((project, name)) > 1})
    problems += [f"{name}: is the name of several of the pipelines; import one of them" for name in twice]
    if problems:
        raise UserError(*problems)
    return found


def _documents(file: Path) -> Iterator[Any]:
    try:
        text = file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise UserError(f"{file}: cannot be read: {reason}; name a file of pipeline specs") from None
    if file.suffix == ".jsonnet":
        remedy = "render it with `jsonnet --tla-str NAME=VALUE`, and import what that prints"
        raise UserError(f"{file.name}: is a Jsonnet template; {remedy}")
    try:
        made = _parsed(text)
    except _SetTwiceError as error:
        raise UserError(f"{file.name}: {error} is set twice in one place; remove one of them") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        position = f", line {mark.line + 1}" if mark else ""
        problem = getattr(error, "problem", None) or "it is not YAML"
        raise UserError(f"{file.name}{position}: is neither JSON nor YAML: {problem}; correct it") from None
    for one in made:
        if isinstance(one, list):
            yield from one
        elif one is not None:
            yield one


def _parsed(text: str) -> list[Any]:
    try:
        return list(_json(text))
    except ValueError:
        return list(yaml.load_all(text, _Loader))


class _SetTwiceError(Exception):
    """A field is there twice, of which the first would be dropped."""


class _Loader(yaml.SafeLoader):
    """Reads YAML, and refuses fields that are there twice."""

    def compose_mapping_node(self, anchor: dict[Any, yaml.Node]) -> yaml.MappingNode:
        # Its construction adds the fields of merge keys, each time that an alias names it.
        node = super().compose_mapping_node(anchor)
        _once([key.value for key, _ in node.value])
        return node


def _once(keys: list[Any]) -> None:
    for key in keys:
        if keys.count(key) > 1:
            raise _SetTwiceError(key)


def _fields(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    _once([key for key, _ in pairs])
    return dict(pairs)


def _json(text: str) -> Iterator[Any]:
    """JSON documents one after the other, with or without `---` between them. Raises ValueError."""
    decoder = json.JSONDecoder(object_pairs_hook=_fields)
    at = 0
    while (at := _after_blank(text, at)) < len(text):
        made, at = decoder.raw_decode(text, at)
        yield made


def _after_blank(text: str, at: int) -> int:
    blank = _BETWEEN.match(text, at)
    return blank.end() if blank else at


def _spec(document: Any, at: str) -> Spec:
    # `pachctl inspect pipeline --raw` has most of a spec in `details`.
    if isinstance(document, dict) and isinstance(document.get("details"), dict):
        document = {"pipeline": document.get("pipeline"), **document["details"]}
        for key in _OF_A_RUNNING_ONE & document.keys():
            del document[key]
    try:
        made = Spec.model_validate(document)
    except ValidationError as error:
        raise UserError(*(f"{at}: {_line(one)}" for one in error.errors())) from None
    if made.input and _PLACEHOLDER.search(made.name):
        raise UserError(f"{at}: pipeline.name: {made.name!r} is a variable of a template; fill it in first")
    return made


_OF_A_RUNNING_ONE = frozenset({"createdAt", "created_at", "recentError", "unclaimedTasks", "workersRequested"})
"""Fields of a pipeline that runs, which are in no spec."""


def _line(error: Any) -> str:
    key = ".".join(str(part) for part in error["loc"]) or "spec"
    return f"{key}: {error['msg'][0].lower()}{error['msg'][1:]}; see Pachyderm's pipeline specification"
