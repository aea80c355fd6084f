"""One broker for all tests of this folder; each has a topic of its own."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.stream import broker as broker_process
from tests.stream.broker import Broker


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """A broker that runs."""
    with broker_process.running(tmp_path_factory.mktemp("kafka")) as one:
        yield one


@pytest.fixture
def own_broker(tmp_path: Path) -> Iterator[Broker]:
    """A broker that the test may kill, and that is let back once its former session is over.

    However busy the machine, its session lasts: a broker without one names no broker to its clients, and librdkafka
    2.16 then never asks again (its issue 5301).
    """
    with broker_process.running(tmp_path / "kafka", session_seconds=20) as one:
        yield one


@pytest.fixture
def topic(request: pytest.FixtureRequest) -> str:
    """A name that no other test uses, nor the same test a second time."""
    return f"{request.node.originalname}-{secrets.token_hex(3)}"
