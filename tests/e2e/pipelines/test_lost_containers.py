"""Parts whose container the kernel ends: for its memory, and together with Argo's executor, as cgroup v2 does."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from tests.e2e.pipelines.deployed import Pipelines, stages_of
from tests.e2e.pipelines.settings import SECONDS
from tests.support.waiting import eventually

pytestmark = pytest.mark.nightly("containers that are lost; told in part by unit/driver/test_failures.py")

_SLEEPS = f"sleep\0{SECONDS}\0".encode()


def test_a_part_that_needs_more_memory_fails_and_says_so(pipeline: Pipelines) -> None:
    pipeline.put("texts", a="one", b="hungry")
    failed = pipeline.run("words")
    assert stages_of(failed) == [("upper", "failed", 2, 1, 0, 1)]
    why = pipeline.logs("words/upper")[1]
    assert "OOMKilled (exit code 137): container main exceeded its memory limit of" in why
    assert why.endswith("raise resources.memoryGib")


def test_a_part_whose_container_is_lost_with_its_executor_fails(pipeline: Pipelines) -> None:
    pipeline.put("texts", a="other", b="sleepy")
    name = pipeline.start("words").partition(":")[0]
    # The executor is the container's first process: its end is that of the container.
    os.kill(_parent(eventually(_sleeping)[0]), signal.SIGKILL)
    assert stages_of(pipeline.ended(name)) == [("upper", "failed", 2, 1, 0, 1)]


def _sleeping() -> list[Path]:
    return [path.parent for path in Path("/proc").glob("[0-9]*/cmdline") if _command(path) == _SLEEPS]


def _command(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:  # it has ended
        return b""


def _parent(process: Path) -> int:
    return int((process / "stat").read_text().rpartition(")")[2].split()[1])
