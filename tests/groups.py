"""`python -m tests.groups`: every test, in groups that run side by side, each with embedded clusters of its own.

Groups with clusters wait for most of their time: for images, pods, leases and snapshots. `python -m tests.groups data`
runs one group, `pytest tests/storage` one folder.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import IO

import pytest

from tensorplane.core.paths import PROJECT
from tests.support.counts import shard

_INTERRUPTED = 130
_ERRORS = 12
"""Different lines of a group's errors that are told again at the end: CI shows the last twenty of its output."""
_OF_ONE = 8
"""Lines told of one error."""
_NAMES = 3
"""Names told of tests that failed for one reason, such as a fixture of all of them."""


@dataclass(frozen=True)
class Group:
    """Folders of tests that run one after the other in one process."""

    folders: Sequence[str]
    instance: str = ""
    """What is appended to the names of its embedded clusters (TENSORPLANE_TESTS), if it has any."""
    without: Sequence[str] = ()
    """Folders in its folders that are of another group."""

    def command(self, *options: str) -> list[str]:
        """What runs it."""
        folders = [f"tests/{folder}" for folder in self.folders]
        folders += [f"--ignore=tests/{folder}" for folder in self.without]
        return [sys.executable, "-m", "pytest", "--durations=10", *options, *folders]


_STACKS = ("unit/clusters", "unit/node_groups", "unit/stack", "unit/volumes", "unit/workloads")
GROUPS: Mapping[str, Group] = {
    # The unit tests in halves: what stacks register, and all else.
    "stacks": Group(_STACKS),
    "unit": Group(("unit",), without=_STACKS),
    "pages": Group(("docs", "imports", "properties", "gpu")),
    "programs": Group(("policies", "preview", "recorded", "provider", "hosts", "serving", "toolchain")),
    "library": Group(("runtime",)),
    "queues": Group(("queues", "simulated_fleet", "cluster", "e2e"), "-2"),
    "data": Group(("storage", "stream", "csi", "nodes"), "-3"),
}


def ungrouped(folders: Iterable[str], groups: Mapping[str, Group] = GROUPS) -> list[str]:
    """Folders with tests that are in no group or in several."""
    counts = [folder for group in groups.values() for folder in group.folders]
    return sorted(folder for folder in folders if counts.count(folder) != 1)


def run(groups: Mapping[str, Group], *options: str, checks: Mapping[str, Sequence[str]] = MappingProxyType({})) -> int:
    """Run the groups side by side, their lines marked with the group's name; 1 if one of them fails.

    `options` are of pytest, and `checks` other commands that run beside the groups, by their names.
    """
    started = {name: _started(group.command(*options), group.instance) for name, group in groups.items()}
    started |= {name: _started(argv, "") for name, argv in checks.items()}
    tails = {name: _Tail(name, process) for name, process in started.items()}
    try:
        codes = {name: process.wait() for name, process in started.items()}
    except KeyboardInterrupt:
        # The terminal has interrupted them too; they remove their clusters.
        for process in started.values():
            process.wait()
        return _INTERRUPTED
    for tail in tails.values():
        tail.join()
    # A shard may have nothing left in a group.
    fine = {0, *([pytest.ExitCode.NO_TESTS_COLLECTED] if shard() else [])}
    # Those that failed last, where they are found.
    for name in sorted(tails, key=lambda name: codes[name] not in fine):
        print(*(f"{name}: {line}" for line in [*tails[name].summary(), *_killed(codes[name])]), sep="\n")
    return int(not fine.issuperset(codes.values()))


def _started(argv: Sequence[str], instance: str) -> subprocess.Popen[str]:
    # pytest cuts a failure's reason at the width of the terminal.
    environment = {**os.environ, "TENSORPLANE_TESTS": instance, "PYTHONUNBUFFERED": "1", "COLUMNS": "160"}
    return subprocess.Popen(
        argv, cwd=PROJECT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )


def _killed(code: int) -> list[str]:
    """That a signal ended a group, whose last line then tells of no end."""
    return [f"ended by {signal.Signals(-code).name}: {signal.strsignal(-code)}"] if code < 0 else []


class _Tail(threading.Thread):
    """Prints a group's lines as they come, and keeps those that say how it ended."""

    def __init__(self, name: str, process: subprocess.Popen[str]) -> None:
        super().__init__(daemon=True)
        self.name = name
        self._output: IO[str] | None = process.stdout
        self._last = ""
        self._errors: list[str] = []
        self._failed: dict[str, list[str]] = {}
        self.start()

    def run(self) -> None:
        lines = 0
        for line in map(str.rstrip, self._output or ()):
            print(f"{self.name:>8} | {line}", flush=True)
            if line.startswith(("FAILED ", "ERROR ")):
                test, _, reason = line.partition(" - ")
                self._failed.setdefault(reason, []).append(test)
            # pytest's marks of a failure, and mypy's errors.
            lines = lines + 1 if line.startswith("E ") else 0
            if 0 < lines <= _OF_ONE or ": error: " in line:
                self._errors.append(line)
            if line and not line.startswith("%"):  # librdkafka's log, which goes on until its clients are gone
                self._last = line

    def summary(self) -> list[str]:
        """The tests that failed, by their reasons, their errors, and the last line, in which pytest and mypy count."""
        return [*map(_text, self._failed.items()), *list(dict.fromkeys(self._errors))[:_ERRORS], self._last]


def _text(failed: tuple[str, list[str]]) -> str:
    reason, tests = failed
    more = [f"and {len(tests) - _NAMES} more"] if len(tests) > _NAMES else []
    return f"{', '.join([*tests[:_NAMES], *more])} - {reason}"


def folders_with_tests() -> list[str]:
    """The folders of tests/ that have tests in them."""
    tests = PROJECT / "tests"
    return sorted({Path(path).relative_to(tests).parts[0] for path in tests.rglob("test_*.py")})


def main() -> int:
    """Run all groups, with the check of types beside them, or the groups that are named."""
    if lost := ungrouped(folders_with_tests()):
        print(f"tests: {', '.join(lost)}: in no group or in several; see GROUPS in tests/groups.py", file=sys.stderr)
        return 1
    names = sys.argv[1:] or list(GROUPS)
    if unknown := [name for name in names if name not in GROUPS]:
        print(f"tests: no group {', '.join(unknown)}; the groups are {', '.join(GROUPS)}", file=sys.stderr)
        return 1
    return run({name: GROUPS[name] for name in names}, checks={} if sys.argv[1:] else {"types": ["make", "types"]})


if __name__ == "__main__":
    sys.exit(main())
