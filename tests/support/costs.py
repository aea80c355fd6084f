"""What each test costs: its seconds, and those of the processors, for `make test-report`.

A test's processor time is that of its own process, of programs that it started and that have ended, and of the embedded
clusters of its group. What a program uses that outlives the test is part of the test that ends it.
"""

from __future__ import annotations

import json
import os
import re
import resource
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from embedded.cluster.cgroups import hierarchies
from embedded.paths import cache

FILE = cache() / "test-costs.jsonl"
"""One line a test, newest last. Lines are short enough that processes append them side by side."""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Measures a test with the fixtures that it sets up and tears down."""
    started, used = time.monotonic(), _processor_seconds()
    result = yield
    seconds = time.monotonic() - started
    # A cluster that a test stops takes its count along.
    processor = max(0.0, _processor_seconds() - used)
    _append({"test": item.nodeid, "seconds": round(seconds, 3), "processor": round(processor, 3)})
    return result


def read(path: Path = FILE) -> dict[str, dict[str, float]]:
    """The last costs of each test, by its node ID."""
    lines = path.read_text().splitlines() if path.exists() else []
    return {one.pop("test"): one for one in map(json.loads, lines)}


def _append(cost: dict[str, object]) -> None:
    FILE.parent.mkdir(parents=True, exist_ok=True)
    with FILE.open("a") as file:
        file.write(json.dumps(cost) + "\n")


def _processor_seconds() -> float:
    ended = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in ended) + _clusters_seconds()


def _clusters_seconds() -> float:
    """Of the embedded clusters that this group of tests may have started."""
    suffix = os.environ.get("TENSORPLANE_TESTS", "")
    ours = re.compile(rf"tensorplane-[a-z]+{re.escape(suffix)}")
    found = (folder for root in hierarchies() for folder in root.iterdir() if ours.fullmatch(folder.name))
    return sum(map(_group_seconds, found))


def _group_seconds(folder: Path) -> float:
    try:
        return int((folder / "cpuacct.usage").read_text()) / 1e9
    except OSError:
        pass
    try:
        # Version 2: the first line is `usage_usec N`.
        return int((folder / "cpu.stat").read_text().split()[1]) / 1e6
    except OSError:
        return 0.0
