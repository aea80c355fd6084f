"""One stand-in that the tests of requests share, and one browser for the tests of a module."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tensorplane.workloads.model_server import serving_config
from tensorplane.workloads.model_server.settings import ServedModel
from tests.serving import half_plus_two
from tests.serving.digits import Nearest
from tests.serving.server import HalfPlus, Server, running
from tests.support import browser

_MODELS = ("half", "plus", "native", "digits", "metered", "warm")


@pytest.fixture(scope="session")
def server(stubs: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A stand-in with the files that the stack generates, and a model for each that needs one of its own.

    `half` is x / 2 + 3, version 3. `plus` is half_plus_two of TF Serving's tests, version 123, and `native` the
    same in TensorFlow 2. `digits` takes pictures. One test alone asks `metered`, and one publishes versions of `warm`.
    """
    base = tmp_path_factory.mktemp("models")
    HalfPlus(3.0).publish(base, "half", 3)
    half_plus_two.save(base / "plus" / "00000123")
    half_plus_two.Native().save(base / "native" / "1")
    Nearest().save(base / "digits" / "1")
    HalfPlus(2.0).publish(base, "metered", 1)
    HalfPlus(1.0).publish(base, "warm", 1)
    config, monitoring = base / "models.config", base / "monitoring"
    served = {name: ServedModel(volume="models", path=name) for name in _MODELS}
    config.write_text(serving_config.models({name: str(base / name) for name in _MODELS}, served))
    monitoring.write_text(serving_config.monitoring())
    flags = (f"--model_config_file={config}", f"--monitoring_config_file={monitoring}")
    with running(stubs, base, *flags, "--enable_grpc_healthcheck_service") as server:
        for name in _MODELS:
            server.wait(f"/v1/models/{name}/metadata", 200)
        yield server


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser.started() as started:
        yield started
