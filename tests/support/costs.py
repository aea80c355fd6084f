"""What each test costs: its seconds, and those of the processors, for `make test-report`.

A test's processor time is that of its own process, of programs that it started and that have ended, and of the embedded
cluster that is its own. What a program uses that outlives the test is part of the test that ends it.
"""

from __future__ import annotations

import json
import resource
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tensorplane.core.paths import cache
from tensorplane.embedded.cluster import cgroups
from tensorplane.embedded.instance import Instance
from tests.support.counts import shard

FILE = cache() / "test-costs.jsonl"
"""One line a test, newest last. Lines are short enough that processes append them side by side."""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Measures a test with the fixtures that it sets up and tears down."""
    started, used, before = time.monotonic(), _seconds_of_programs(), _Cluster.now()
    result = yield
    seconds = time.monotonic() - started
    processor = _seconds_of_programs() - used + _Cluster.now().since(before)
    if shard() and not item.get_closest_marker("nightly"):
        return result  # its cost is that of `make test`, where it counts less
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


def _seconds_of_programs() -> float:
    ended = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in ended)


@dataclass(frozen=True)
class _Cluster:
    """What the embedded cluster that the environment names has used since it started."""

    name: str
    seconds: float

    @classmethod
    def now(cls) -> _Cluster:
        instance = Instance.current()
        # The user's own cluster is no test's.
        return cls(instance.name, 0.0 if instance.name == "dev" else cgroups.processor_seconds(instance))

    def since(self, before: _Cluster) -> float:
        """All of it if the test has started it."""
        same = self.name == before.name and self.seconds >= before.seconds
        return self.seconds - before.seconds if same else self.seconds
