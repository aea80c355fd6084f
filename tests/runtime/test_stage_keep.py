"""The container that keeps a part's result: what it refuses, what it leaves behind, how much memory it takes."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tensorplane.datasets import Refused
from tensorplane.stages import plan, steps
from tensorplane.stages.commit import commit
from tensorplane.stages.item_results import keep
from tensorplane.stages.results import Result, Results
from tests.runtime.stage_volume import Volume
from tests.support.rendering import PROJECT

_PROGRAM = """
import runpy, sys
runpy.run_module("tensorplane.stages", run_name="__main__", alter_sys=True)
(peak,) = [line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM:")]
print(int(peak) // 1024)
"""
"""The program of the container `keep`, and then how many MiB of memory it has had at most."""


@pytest.fixture
def volume(tmp_path: Path) -> Volume:
    return Volume(tmp_path)


def test_a_result_that_is_refused_leaves_nothing_behind(volume: Volume, tmp_path: Path) -> None:
    def fails(*_: object) -> None:
        raise OSError("the volume")

    stage, version = volume.stage(), volume.put(a="one")
    plan.plan(stage, "words-1", {"texts": version})
    out = tmp_path / "out"
    out.mkdir()
    (out / "a").write_text("ONE")
    with _broken(Results, "keep", fails), pytest.raises(OSError, match="the volume"):
        keep(stage, "words-1", 0, out)
    assert not [path for path in (volume.made.store.root / "objects").rglob("*") if path.is_file()]


def test_a_pod_of_a_plan_before_whose_part_has_a_result_changes_nothing(volume: Volume, tmp_path: Path) -> None:
    stage, version = volume.stage(), volume.put(a="one")
    out = tmp_path / "out"
    out.mkdir()
    (out / "a").write_text("ONE")
    plan.plan(stage, "words-1", {"texts": version})
    assert steps.keep_result(stage, "words-1", "0", out).said == "item=0 files=1"
    assert plan.plan(stage, "words-1", {"texts": version}) == []
    (out / "a").write_text("another")
    assert steps.keep_result(stage, "words-1", "0", out).said == "item=0 result=unchanged"
    commit(stage, "words-1")
    assert volume.files() == {"a": "ONE"}


def test_a_pod_that_was_cut_off_changes_nothing_once_another_one_has_kept_a_result(
    volume: Volume, tmp_path: Path
) -> None:
    """It goes on after it has read the plan, when the run has been committed and cleaned."""
    stage, version = volume.stage(), volume.put(a="one")
    plan.plan(stage, "words-1", {"texts": version})
    for name in ("former", "later"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a").write_text(name)
    kept = Results.keep

    def paused(self: Results, key: str, result: Result) -> None:
        with _broken(Results, "keep", kept):
            keep(stage, "words-1", 0, tmp_path / "later")
            commit(stage, "words-1")
            plan.finish(stage, "words-1")
        kept(self, key, result)

    with _broken(Results, "keep", paused):
        keep(stage, "words-1", 0, tmp_path / "former")
    assert volume.files() == {"a": "later"}
    assert plan.plan(stage, "words-2", {"texts": version}) == [], "it has the result"
    commit(stage, "words-2")
    assert volume.files() == {"a": "later"}


def test_a_result_that_does_not_fit_is_refused_with_the_sizes(volume: Volume, tmp_path: Path) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    stage, version = volume.stage(), volume.put(a="one")
    plan.plan(stage, "words-1", {"texts": version})
    out = tmp_path / "out"
    out.mkdir()
    (out / "a").write_bytes(bytes(3 << 20))
    free = r"which has \S+ \wi?B of \S+ \wi?B free"
    expected = (
        rf"^upper: the result of part 0 for made \(3 MiB\) does not fit on its volume, {free}; make the volume larger"
    )
    with _broken(Results, "keep", full), pytest.raises(Refused, match=expected):
        steps.keep_result(stage, "words-1", "0", out)


@contextlib.contextmanager
def _broken(of: type, name: str, fails: Callable[..., None]) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(of, name, fails)
        yield


def test_keeping_a_result_takes_as_much_memory_for_many_parts_as_for_one(volume: Volume, tmp_path: Path) -> None:
    stage, version = volume.stage(), volume.put(a="one")
    plan.plan(stage, "r", {"texts": version})
    few = _peak_mib(volume, tmp_path)
    found = plan.Plan.read(plan.path_of(stage, "r"))
    windows = tuple(
        plan.Planned(f"0/{number:020d}.jsonl", f"{number:064x}", f"{number:064x}", plan.UNCHANGED)
        for number in range(150_000)
    )
    replace(found, items=(*found.items, *windows)).write(plan.path_of(stage, "r"), volume.made.store.parts)
    many = _peak_mib(volume, tmp_path)
    assert many < few + 8
    assert commit(volume.stage(may_fail=150_000), "r").commit.files == 1


def test_what_no_further_try_changes_ends_the_container_with_its_own_status(volume: Volume, tmp_path: Path) -> None:
    """By which Argo tries the pod no more."""
    stage, version = volume.stage(), volume.put(a="one")
    plan.plan(stage, "r", {"texts": version})
    (tmp_path / "out").mkdir()
    os.mkfifo(tmp_path / "out/pipe")
    ended = _keep(volume, tmp_path / "out", "-m", "tensorplane.stages")
    assert (ended.returncode, len(ended.stderr.splitlines())) == (65, 1), ended.stderr
    assert "pipe" in ended.stderr


def test_keeping_many_files_takes_little_more_memory_than_their_names(volume: Volume, tmp_path: Path) -> None:
    plan.plan(volume.stage(), "r", {"texts": volume.put(a="one")})
    few = _peak_mib(volume, tmp_path)
    for number in range(12_000):
        (tmp_path / f"out/{number:030d}.txt").write_text(str(number))
    shutil.rmtree(volume.made.store.root / "results")
    assert _peak_mib(volume, tmp_path) < few + 27


def _peak_mib(volume: Volume, out: Path) -> int:
    (out / "out").mkdir(exist_ok=True)
    (out / "out/a.txt").write_text("ONE")
    ended = _keep(volume, out / "out", "-c", _PROGRAM)
    assert ended.returncode == 0, ended.stderr
    return int(ended.stdout.split()[-1])


def _keep(volume: Volume, out: Path, *program: str) -> subprocess.CompletedProcess[str]:
    """Run the container `keep` on the first part of the run `r`."""
    source = {"name": "texts", "dataset": "raw", "root": str(volume.raw.store.root), "folder": "datasets/raw"}
    root = {"dataset": "made", "root": str(volume.made.store.root), "folder": "datasets/made", "rules": {}}
    about = {"pipeline": "words", "name": "upper", "decisive": {}, "inputs": [{**source, "by": "file"}], **root}
    argv = [sys.executable, *program, "keep", "r", "0", str(out)]
    environment = {**os.environ, "PYTHONPATH": str(PROJECT / "runtime"), "STAGE": json.dumps(about)}
    return subprocess.run(argv, check=False, env=environment, capture_output=True, text=True)
