"""One stand-in that the tests of requests share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.serving.server import HalfPlus, Server, running


@pytest.fixture(scope="session")
def server(stubs: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A stand-in that serves version 3 of the model `half`: x / 2 + 3."""
    base = tmp_path_factory.mktemp("models")
    (base / "half").mkdir()
    HalfPlus(3.0).save(base / "half" / "3")
    with running(stubs, base) as server:
        server.wait("/v1/models/half/metadata", 200)
        yield server
