"""How long `make up` takes: cold, with everything cached, and a second time."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import time
from pathlib import Path

from bench import instance
from bench.figure import Figure, Measured
from tensorplane.core.paths import PROJECT
from tensorplane.core.step import Step
from tensorplane.core.tasks import command


def _up(project: Path = PROJECT, **environment: str) -> float:
    environment |= {"TENSORPLANE_INSTANCE": instance.BENCH.name}
    began = time.monotonic()
    command(["make", "up", "CONTEXT="], step=Step("make up for bench"), cwd=project, env=environment)
    return time.monotonic() - began


def _cached() -> Measured:
    with instance.fresh():
        return Measured(_up(), "nothing running, no state; tools and images in the cache")


def _second() -> Measured:
    with instance.fresh():
        first = _up()
        return Measured(_up(), f"the first took {first:.0f} s")


def _cold() -> Measured:
    scratch = Path(tempfile.mkdtemp(prefix="tensorplane-cold-", dir=Path.home()))
    project = scratch / "tensorplane"
    caches = {
        "XDG_CACHE_HOME": str(scratch / "cache"),
        "GOCACHE": str(scratch / "go-build"),
        "GOMODCACHE": str(scratch / "go-mod"),
        "PIP_CACHE_DIR": str(scratch / "pip"),
    }
    try:
        with instance.fresh():
            subprocess.run(["git", "clone", "--quiet", PROJECT, project], check=True)
            return Measured(_up(project, **caches) / 60, "a clean clone, every cache empty")
    finally:
        subprocess.run(["chmod", "-R", "u+w", scratch], check=False)
        shutil.rmtree(scratch)


FIGURES = (
    Figure("cold-up", "<= 30", "min", _cold, by_name=True),
    Figure("cached-up", "<= 90", "s", _cached),
    Figure("second-up", "<= 15", "s", _second),
)
