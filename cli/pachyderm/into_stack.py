"""Imported pipelines for one stack: with the datasets and the volume that it lacks, and checked with its settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from tensorplane import stack as program
from tensorplane.cli import stack_config
from tensorplane.cli.pachyderm import convert, reading, text
from tensorplane.cli.pachyderm.stage import Choice
from tensorplane.components.base import stack_name
from tensorplane.components.base.settings import Settings
from tensorplane.core.errors import UserError
from tensorplane.driver.stack_settings import read

_VOLUME = {"sizeGib": 100}
"""A volume that the stack lacks."""


def imported(
    files: list[Path], stack: str, choice: Choice, *, name: str | None, volume: str
) -> tuple[str, list[str], bool]:
    """The settings as text, lines about them, and whether problems are left. UserError if the specs cannot be read."""
    file = stack_config.file(stack)
    own = Settings.of_file(read(file))
    made = convert.convert(reading.read(files), choice, name=name, taken=_keys(own, "workloads"))
    sections = {
        "volumes": {volume: _VOLUME} if volume not in _keys(own, "volumes") else {},
        "datasets": {one: {"volume": volume} for one in made.datasets if one not in _keys(own, "datasets")},
    }
    sections = {section: content for section, content in sections.items() if content}
    found = text.settings(made, sections)
    problems = _left(own, file, {**sections, "workloads": made.workloads})
    end = f"{_count(len(problems), 'mistake')} to correct" if problems else f"no mistakes found with {file.name}"
    stages = _count(sum(len(one["stages"]) for one in made.workloads.values()), "stage")
    fields = _count(len(made.notes), "field")
    summary = f"{_count(len(made.workloads), 'pipeline')} of {stages}; {fields} without an equal; {end}"
    return found, [*(f"{note}" for note in made.notes), *problems, summary], bool(problems)


def _count(number: int, name: str) -> str:
    return f"{number} {name}" if number == 1 else f"{number} {name}s"


def _keys(own: Settings, section: str) -> list[str]:
    found = own.tree.get(section)
    return list(found) if isinstance(found, Mapping) else []


def _left(own: Settings, file: Path, more: Mapping[str, Any]) -> list[str]:
    """The problems of the stack's settings with these, apart from those without them."""
    stack_name.configure(file.name.split(".")[1])
    tree = dict(own.tree)
    for section, content in more.items():
        there = tree.get(section)
        tree[section] = {**(there if isinstance(there, Mapping) else {}), **content}
    if not (found := _problems(replace(own, tree=tree))):
        return []
    former = _problems(own)
    return [line for line in found if line not in former]


def _problems(settings: Settings) -> list[str]:
    try:
        program.load(settings)
    except UserError as error:
        return list(error.lines)
    return []
