"""Fixtures of the await tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tensorplane.core.kube_objects import Objects
from tests.provider.await_support import LONG_SECONDS, Object, Waiting


@pytest.fixture
def wait(api: Objects) -> Iterator[Callable[..., Waiting]]:
    """Starts waits; those still running at the end are cancelled."""
    started: list[Waiting] = []

    def start(obj: Object, timeout: float | None = LONG_SECONDS) -> Waiting:
        started.append(Waiting(api, obj, timeout))
        return started[-1]

    yield start
    for waiting in started:
        waiting.cancelled.set()
        waiting.end()
