"""What tests of several folders need."""

from __future__ import annotations

import functools
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from types import FrameType

import hypothesis
import pytest

from tensorplane.components.base.names import digest
from tensorplane.core.paths import PROJECT, cache
from tensorplane.core.step import Step
from tensorplane.toolchain.tool_folders import made_whole
from tests.support import counts

pytest_plugins = ["tests.support.costs", "tests.support.explain", "tests.support.order", "tests.support.shards"]

# How fast inputs are made says something of the machine's load, nothing of the code. In `make test` they are the same
# in every run; by night, those of tests that are marked `counted` follow from the shard's seed.
hypothesis.settings.register_profile(
    "any machine",
    deadline=None,
    database=None,
    derandomize=not counts.shard(),
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.load_profile("any machine")


def pytest_sessionstart(session: pytest.Session) -> None:
    """One SIGINT ends the session, in whatever it interrupts.

    In the background of a script, pytest and what it starts would ignore it, also the one that tests send; and
    TensorFlow turns a KeyboardInterrupt in a function that it calls into an error of its own.
    """

    def end(number: int, frame: FrameType | None) -> None:
        session.shouldstop = "interrupted"
        signal.default_int_handler(number, frame)

    signal.signal(signal.SIGINT, end)


def pytest_configure(config: pytest.Config) -> None:
    """One folder for temporary files, which the session removes: tests kill programs, which then leave theirs.

    pytest's own stay beside it, because it keeps those of failed tests.
    """
    if counts.shard():
        config.option.hypothesis_seed = counts.seed()  # Hypothesis' own plugin reads it after this
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", tempfile.gettempdir())
    os.environ["TMPDIR"] = tempfile.tempdir = tempfile.mkdtemp(prefix="tensorplane-tests-")
    config.add_cleanup(functools.partial(shutil.rmtree, tempfile.tempdir, ignore_errors=True))


_ONLY_OF_SERVING = ("tensorflow-serving-api==", "grpcio-health-checking==")


@pytest.fixture(scope="session")
def stubs() -> Path:
    """A folder with what the serving stand-in has, and the project's environment has not.

    tensorflow-serving-api asks for the package `tensorflow`, whose files would lie over those of `tensorflow-cpu` in
    the project's environment. So they are installed alone, once, into the cache.
    """
    lines = (PROJECT / "images/serving/requirements.txt").read_text().splitlines()
    pins = [line.split()[0] for line in lines if line.startswith(_ONLY_OF_SERVING)]
    folder = cache() / "test-packages" / digest("\n".join(pins))
    with made_whole(folder, Step("test packages")) as draft:
        if draft:
            pip = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(draft), *pins]
            subprocess.run(pip, check=True)
    if str(folder) not in sys.path:
        sys.path.append(str(folder))
    return folder
