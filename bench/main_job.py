"""How long `make up` takes: cold, with everything cached, and a second time."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

from bench.figure import Figure, Measured
from embedded.fault import Fault
from embedded.paths import PROJECT

COLD = "cold-up"
_INSTANCE = {"TENSORPLANE_INSTANCE": "bench", "TENSORPLANE_CONTEXT": ""}


def _make(target: str, project: Path = PROJECT, **environment: str) -> float:
    began = time.monotonic()
    done = subprocess.run(
        ["make", target],
        cwd=project,
        env=os.environ | _INSTANCE | environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode:
        raise Fault(f"make {target} failed:", *done.stdout.splitlines()[-10:])
    return time.monotonic() - began


def _purge() -> None:
    subprocess.run(
        [PROJECT / ".venv/bin/python", "-m", "embedded", "purge", "--yes"],
        cwd=PROJECT, env=os.environ | _INSTANCE, check=True, stdout=subprocess.DEVNULL,
    )  # fmt: skip


def _cached() -> Measured:
    _purge()
    try:
        return Measured(_make("up"), "nothing running, no state; tools and images in the cache")
    finally:
        _purge()


def _second() -> Measured:
    _purge()
    try:
        first = _make("up")
        return Measured(_make("up"), f"the first took {first:.0f} s")
    finally:
        _purge()


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
        subprocess.run(["git", "clone", "--quiet", PROJECT, project], check=True)
        return Measured(_make("up", project, **caches) / 60, "a clean clone, every cache empty")
    finally:
        _purge()
        subprocess.run(["chmod", "-R", "u+w", scratch], check=False)
        shutil.rmtree(scratch)


FIGURES = (
    Figure(COLD, "<= 30", "min", _cold),
    Figure("cached-up", "<= 90", "s", _cached),
    Figure("second-up", "<= 15", "s", _second),
)
