"""What becomes of a mutant: the lines that a user reads, or everything that its stack would register, and its flaws."""

from __future__ import annotations

import contextvars
import fnmatch
import functools
import re
import traceback
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from tensorplane import stack, stack_file
from tensorplane.cli import stack_config
from tensorplane.cli.commands.check import command as check_command
from tensorplane.components.base.settings import Settings
from tensorplane.core.errors import UserError
from tensorplane.plugins.preview import check as sdk_check
from tensorplane.plugins.preview.sdk import Sdk
from tensorplane.stack import ResolvedStack
from tests.mutants import fresh
from tests.mutants.fresh import Mutant
from tests.support import rendering
from tests.support.rendering import Rendered

_CLOUDS = ("aws", "azure-native", "gcp")
_PYTHON = re.compile(r"<class|NoneType|Traceback|object at 0x|pydantic|Input should|\bNone\b|\bTrue\b|\bFalse\b")
_PLURALS = "pods GPUs CPUs nodes jobs workers replicas volumes queues zones addresses bytes hours times days files"
_ONE_OF_MANY = re.compile(rf"(?<![\d.,])1 ({_PLURALS.replace(' ', '|')})\b")
_LONGEST = 2500
NO_EFFECT = "it changes nothing"


@dataclass(frozen=True)
class Outcome:
    """What a user would see, and what would be built."""

    lines: list[str] = field(default_factory=list)
    """Why the file is refused; none where it is accepted."""
    crash: str = ""
    """The traceback of an error that is no fault."""
    unread: list[str] = field(default_factory=list)
    """Encrypted values, which are left to the engine: nothing is built."""
    resolved: ResolvedStack | None = None
    made: Rendered | None = None


def outcome(mutant: Mutant, folder: Path) -> Outcome:
    """Check the file as `tensorplane check` does, and build what it accepts; the SDK keeps its configuration."""
    return contextvars.copy_context().run(_outcome, mutant, folder)


def _outcome(mutant: Mutant, folder: Path) -> Outcome:
    file = folder / "Pulumi.dev.yaml"
    file.write_text(mutant.text)
    try:
        check_command.run(file)
        if unread := stack_config.encrypted(file):
            return Outcome(unread=unread)
        resolved = stack.load(Settings.of_file(stack_file.read(file)))
        return Outcome(resolved=resolved, made=rendering.run(lambda: stack.build(resolved)))
    except UserError as fault:
        return Outcome(lines=list(fault.lines))
    except Exception:
        return Outcome(crash=traceback.format_exc())


@functools.cache
def of_base(base: Path, folder: Path) -> Outcome:
    """What the unchanged stack comes to."""
    return outcome(fresh.base_of(base), folder)


def flaws(mutant: Mutant, found: Outcome, folder: Path) -> list[str]:
    """What is wrong with how a mutant is answered, but for what was reviewed; what a cluster says is not in it."""
    if found.crash:
        return [found.crash]
    if found.made is None or found.resolved is None:
        return [f"hard to read: {line}" for line in found.lines if not _is_readable(line)]
    wrong = [*_against_sdk(found.made), *_twice(found.made)]
    base = of_base(mutant.base, folder)
    if base.made and found.resolved != base.resolved and _is_same(found.made, base.made):
        wrong.append(NO_EFFECT)
    return [one for one in wrong if not is_reviewed(mutant, found, one)]


def is_reviewed(mutant: Mutant, found: Outcome, flaw: str) -> bool:
    """Whether somebody looked at such a flaw, and found it right: `reviewed.yaml` has the reason."""
    kind = found.resolved.config.cluster.kind if found.resolved else ""
    file = mutant.base.name
    fitting = (
        one
        for one in _reviewed()
        if one["flaw"] in flaw and kind in one.get("on", [kind]) and file in one.get("files", [file])
    )
    return any(
        fnmatch.fnmatch(f"{change} {key}", pattern)
        for one in fitting
        for pattern in one["mutants"]
        for change, key in mutant.changes
    )


@functools.cache
def _reviewed() -> list[dict[str, Any]]:
    made: list[dict[str, Any]] = yaml.safe_load(Path(__file__).with_name("reviewed.yaml").read_text())
    return made


def _is_readable(line: str) -> bool:
    key, colon, problem = line.partition(": ")
    shaped = bool(key and colon and problem) and line.isprintable() and len(line) < _LONGEST
    # What the user wrote is shown in quotes, but for what must be quoted.
    own = re.sub(r"'[^']*'|\"[^\"]*\"|(?<=the boolean )(True|False)|(?<=invalid value )(True|False)", "''", line)
    return shaped and not _PYTHON.search(own) and not _ONE_OF_MANY.search(own)


def _is_same(made: Rendered, base: Rendered) -> bool:
    return made.resources == base.resources and made.exports == base.exports


def _against_sdk(made: Rendered) -> Iterator[str]:
    """What the SDKs of the clouds do not take."""
    for each in made.resources:
        package = each.type.partition(":")[0]
        if package in _CLOUDS:
            kind = Sdk(package).resource(each.type)
            for wrong in sdk_check.check_inputs(_numbers(each.inputs), kind.arguments, kind.name):
                if wrong.certain:
                    yield f"{each.type} {each.name} {wrong.rendered_path}: {wrong.reason}"


def _twice(made: Rendered) -> Iterator[str]:
    """Resources with another one's URN, and objects with another one's name."""
    for urn, count in Counter(made.urns).items():
        if count > 1:
            yield f"{urn}: there {count} times"
    names = Counter(
        (one.get("apiVersion"), one["kind"], at.get("namespace"), at["name"])
        for one in objects(made)
        if "name" in (at := one.get("metadata", {}))
    )
    for name, count in names.items():
        if count > 1:
            yield f"{' '.join(map(str, name))}: there {count} times"


def objects(made: Rendered) -> Iterator[dict[str, Any]]:
    """The Kubernetes objects, as they would be sent; a chart is none."""
    for each in made.resources:
        if each.type.startswith("kubernetes:") and "/v" in each.type and "helm.sh" not in each.type:
            yield _numbers(each.inputs)


def _numbers(value: Any) -> Any:
    """With the whole numbers that the engine makes of what mocks tell as fractions, and without what is nothing."""
    if isinstance(value, Mapping):
        return {key: _numbers(each) for key, each in value.items() if each is not None}
    if isinstance(value, list):
        return [_numbers(each) for each in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value
