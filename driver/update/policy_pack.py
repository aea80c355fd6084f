"""The policy pack in previews and updates, updates that skip it, and the record of the last update that passed."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from tensorplane.components.base import names
from tensorplane.components.base.recorded_usage import VARIABLE
from tensorplane.core import whole_file
from tensorplane.core.paths import PACKAGE, PROJECT
from tensorplane.driver.stack_settings import StackSettings

PACK = (PACKAGE / "policies").resolve()
"""The folder of the pack, for `pulumi --policy-pack`."""
CONFIGURATIONS = PROJECT / "policies"
"""The project's folder with `config.STACK.json`, what a stack sets of the rules."""
_SKIPPED = "policies: skipped"
_LENIENT = {"disabled": "disabled", "advisory": "advise only"}
"""Levels with which a rule refuses nothing, and what it does then."""
# The engine's section of violated policies: a pack, then each violation with the rule's description and its message.
_SECTION = re.compile(r"^Policies:\n(.*?)(?=^\S|\Z)", re.MULTILINE | re.DOTALL)
_VIOLATION = re.compile(r"^ +- \[(?P<level>\w+)\].*?  (?P<name>[a-z][a-z0-9-]+)  \(.*\)$")


class Policies(StrEnum):
    """Whether the policies run on an update."""

    RUN = "run"
    SKIP = "skip"
    """The stack's history records it, and `tensorplane status` says so until they run on an update."""


def arguments(stack: str, folder: Path = CONFIGURATIONS) -> list[str]:
    """Arguments of the CLI: the pack, and the stack's configuration of it."""
    config = _config(stack, folder)
    return ["--policy-pack", str(PACK), *(["--policy-pack-config", str(config)] if config.exists() else ())]


def limits(stack: str, folder: Path = CONFIGURATIONS) -> Mapping[str, Mapping[str, Any]]:
    """What the stack's configuration of the pack sets, by rule; rules of which it sets only the level are left out."""
    return {rule: values for rule, values in _given(stack, folder).items() if isinstance(values, dict)}


def lenient(stack: str, folder: Path = CONFIGURATIONS) -> Mapping[str, list[str]]:
    """The rules that the stack's configuration of the pack disables, or lets advise only, by what it does with them."""
    levels = {
        rule: value.get("enforcementLevel") if isinstance(value, dict) else value
        for rule, value in sorted(_given(stack, folder).items())
    }
    found = {words: [rule for rule, own in levels.items() if own == level] for level, words in _LENIENT.items()}
    return {words: rules for words, rules in found.items() if rules}


def changes(stack: str, before: Path, folder: Path = CONFIGURATIONS) -> list[str]:
    """What differs from `policies` of another commit: what the stack sets of the rules; in a checkout, the rules."""
    if not before.is_dir():
        return []
    old, new = dict(_settings(_given(stack, before))), dict(_settings(_given(stack, folder)))
    keys = sorted(key for key in {*old, *new} if old.get(key) != new.get(key))
    own = [_words(key, old.get(key, "none"), new.get(key, "none")) for key in keys]
    code = sorted(name for name in {*_code(before), *_code(folder)} if _differs(before / name, folder / name))
    return [*own, *(f"the pack itself: {name}" for name in code)]


def _words(key: str, old: object, new: object) -> str:
    return f"{key} {old if old == 'none' else json.dumps(old)} → {new if new == 'none' else json.dumps(new)}"


def _settings(given: Mapping[str, Any], at: str = "") -> Iterator[tuple[str, Any]]:
    """Each value by its path; lists whole."""
    for key, value in given.items():
        if isinstance(value, dict):
            yield from _settings(value, f"{at}{key}.")
        else:
            yield f"{at}{key}", value


def _code(folder: Path) -> Iterator[str]:
    return (str(path.relative_to(folder)) for path in folder.rglob("*.py"))


def _differs(one: Path, other: Path) -> bool:
    return not (one.exists() and other.exists() and one.read_bytes() == other.read_bytes())


def _given(stack: str, folder: Path) -> Mapping[str, Any]:
    config = _config(stack, folder)
    given: dict[str, Any] = json.loads(config.read_text()) if config.exists() else {}
    return given


def _config(stack: str, folder: Path) -> Path:
    return folder / f"config.{stack}.json"


def update_arguments(policies: Policies, stack: str) -> list[str]:
    """Arguments of `pulumi up`."""
    return arguments(stack) if policies is Policies.RUN else ["--message", _SKIPPED]


def has_skipped(history: Sequence[Mapping[str, Any]]) -> bool:
    """Whether the last update of a stack skipped the policies, from its history, newest first."""
    updates = (entry for entry in history if entry["kind"] == "update")
    return next(updates, {}).get("message") == _SKIPPED


def violations(output: str) -> list[str]:
    """The violations of mandatory rules in the CLI's output, a line each."""
    return [line for section in _SECTION.findall(output) for line in _violations(section.splitlines())]


def _violations(lines: Sequence[str]) -> Iterator[str]:
    level = name = ""
    messages: list[str] = []
    for line in [*lines, ""]:
        found = _VIOLATION.match(line)
        if found or not line.strip():
            # The first line repeats the rule's description.
            yield from (f"policy {name}: {each}" for each in messages[1:] if level == "mandatory")
            messages, level, name = [], *((found["level"], found["name"]) if found else ("", ""))
        elif name:
            messages.append(line.strip())


_SUFFIXES = frozenset({".csv", ".json", ".py", ".txt", ".yaml"})
"""Of the files that decide what the program declares and how the policies see it."""


@dataclass(frozen=True)
class PassRecord:
    """Whether the policies passed in an update."""

    file: Path
    """Where a home keeps the key of the last update in which they passed."""
    key: str
    """A hash of settings, program and policies."""

    @classmethod
    def of(cls, settings: StackSettings, environment: Mapping[str, str]) -> PassRecord:
        """Of an update as the files are now. `environment`: the variables of `pulumi`."""
        given = {**os.environ, **environment}
        variables = [given.get(name) for name in ("TENSORPLANE_CONTEXT", VARIABLE)]
        # In a checkout, the package is below the project.
        folders = [settings.project, PACK, *([] if PACKAGE.is_relative_to(PROJECT) else [PACKAGE])]
        files = {str(path): _version(path) for folder in folders for path in _files(folder)}
        key = names.digest_of([settings.file.read_text(), variables, files], 64)
        return cls(settings.folder / f"{settings.name}.policies", key)

    @property
    def passed(self) -> bool:
        """Whether they passed in the last such update, and it was the same."""
        return self.file.exists() and self.file.read_text() == self.key

    def save(self) -> None:
        """They passed."""
        whole_file.write(self.file, self.key)


def _version(path: Path) -> tuple[int, int]:
    about = path.stat()
    return about.st_size, about.st_mtime_ns


def _files(folder: Path) -> Iterator[Path]:
    for entry in sorted(folder.iterdir()):
        is_environment = (entry / "pyvenv.cfg").exists()
        if entry.name.startswith((".", "__pycache__")) or is_environment or not entry.exists():
            continue
        if entry.is_dir():
            yield from _files(entry)
        elif entry.suffix in _SUFFIXES:
            yield entry
