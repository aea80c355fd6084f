"""One broker for all tests of this folder; each has a topic of its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from embedded.step import Step
from embedded.toolchain import kafka
from tests.stream.broker import Broker


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """A broker that runs."""
    running = Broker(kafka.obtain(Step("kafka")), tmp_path_factory.mktemp("kafka"))
    try:
        yield running
    finally:
        running.kill()


@pytest.fixture
def own_broker(tmp_path: Path) -> Iterator[Broker]:
    """A broker that the test may kill."""
    folder = tmp_path / "kafka"
    folder.mkdir()
    running = Broker(kafka.obtain(Step("kafka")), folder)
    try:
        yield running
    finally:
        running.kill()


@pytest.fixture
def topic(request: pytest.FixtureRequest) -> str:
    """A name that no other test uses."""
    return Path(request.node.name).name.replace("[", "-").rstrip("]")
