"""The part of the tests that a shard of `make test-nightly` runs, and where it goes on after it was stopped.

A module with tests marked `nightly` is in one shard; tests marked `counted` are in all of them, with fewer rounds each.
What has passed at this commit is in a file, and is not run again.
"""

from __future__ import annotations

import json
import os
import zlib
from pathlib import Path
from typing import Any

import pytest

from tests.support.counts import Shard, shard

PROGRESS = "TENSORPLANE_PROGRESS"
"""The variable that names the file."""


def passed(progress: Path) -> set[str]:
    """The node IDs of the tests that have passed."""
    return {one["test"] for one in _lines(progress) if "test" in one}


def taken(progress: Path) -> float:
    """The seconds of all runs of the shard together."""
    return sum(float(one["run"]) for one in _lines(progress) if "run" in one)


def took(progress: Path, seconds: float) -> None:
    """Keeps how long a run was, also one that was stopped."""
    _append(progress, {"run": round(seconds, 1)})


def _lines(progress: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in progress.read_text().splitlines()] if progress.exists() else []


def _append(progress: Path, line: dict[str, Any]) -> None:
    with progress.open("a") as file:
        file.write(json.dumps(line) + "\n")


def is_in(item: pytest.Item, part: Shard) -> bool:
    """Whether the shard runs the test."""
    if item.get_closest_marker("counted"):
        return True
    module = item.nodeid.partition("::")[0]
    return bool(item.get_closest_marker("nightly")) and zlib.crc32(module.encode()) % part.of == part.index - 1


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out what other shards run, and what has passed."""
    part = shard()
    if not part:
        return
    before = passed(_progress())
    left = [item for item in items if is_in(item, part) and item.nodeid not in before]
    chosen = set(left)
    config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
    items[:] = left


_reports: dict[str, list[pytest.TestReport]] = {}


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Keeps what passed; a test that was skipped has proved nothing."""
    if not shard():
        return
    _reports.setdefault(report.nodeid, []).append(report)
    if report.when == "teardown" and all(phase.passed for phase in _reports.pop(report.nodeid)):
        _append(_progress(), {"test": report.nodeid})


def _progress() -> Path:
    # Of a test by hand, nothing is kept.
    return Path(os.environ.get(PROGRESS, os.devnull))
