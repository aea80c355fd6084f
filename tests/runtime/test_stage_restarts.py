"""Runs of a stage that are started again under the same name: what they do not repeat, and what they make anew."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from tensorplane.stages import plan
from tensorplane.stages.commit import commit
from tensorplane.stages.item_results import PendingResults, keep
from tests.runtime.stage_volume import Volume, upper


@pytest.fixture
def volume(tmp_path: Path) -> Volume:
    return Volume(tmp_path)


def _but_b(inputs: Mapping[str, Path], out: Path) -> None:
    if (inputs["texts"] / "b.txt").exists():
        raise ValueError
    upper(inputs, out)


def test_a_run_that_is_started_again_commits_the_parts_that_had_failed(volume: Volume) -> None:
    stage, version = volume.stage(may_fail=1), volume.put(a="one", b="two", c="three")
    assert volume.run(stage, version, "words-x", _but_b) == {"a.txt": "ONE", "c.txt": "THREE"}
    first = volume.made.resolve()
    assert volume.run(stage, version, "words-x") == {"a.txt": "ONE", "b.txt": "TWO", "c.txt": "THREE"}
    assert volume.counts == {"parts": 3, "done": 1, "skipped": 2, "failed": 0}
    newest, former = volume.made.log()
    assert (former.id, newest.provenance["parts"], "failed" in newest.provenance) == (first.id, volume.counts, False)


def test_a_run_that_is_started_again_commits_what_the_stage_before_has_made_since(volume: Volume) -> None:
    stage = volume.stage(may_fail=1)
    before, after = volume.put(a="one"), volume.put(a="one", b="two")
    volume.run(stage, before, "words-x")
    assert volume.run(stage, after, "words-x", _but_b) == {"a.txt": "ONE"}
    newest, former = volume.made.log()
    assert newest.provenance["inputs"][0]["commit"] == after, "also where its files are the same"
    assert (former.provenance["inputs"][0]["commit"], newest.provenance["failed"]) == (before, ["b.txt"])


def test_a_run_that_is_started_again_and_has_no_work_keeps_its_commit_and_counts_this_try(volume: Volume) -> None:
    stage, version = volume.stage(), volume.put(a="one", b="two")
    volume.run(stage, version, "words-x")
    (first,) = volume.made.log()
    volume.run(stage, version, "words-x")
    assert list(volume.made.log()) == [first]
    assert volume.counts == {"parts": 2, "done": 0, "skipped": 2, "failed": 0}


def test_a_commit_of_a_run_that_is_started_again_waits_for_what_is_made_again(volume: Volume) -> None:
    """Results of the first try were collected since."""
    stage, version = volume.stage(may_fail=1), volume.put(a="one", b="two", c="three")
    for item in plan.plan(stage, "words-x", {"texts": version})[:2]:
        volume.pod(stage, "words-x", item)
    shutil.rmtree(volume.made.store.root / "results")
    *_, last = plan.plan(stage, "words-x", {"texts": version})
    volume.pod(stage, "words-x", last)
    assert not PendingResults(stage, "words-x").are_there()


def test_a_job_that_resumes_finds_its_results_so_far_when_the_run_is_started_again(volume: Volume) -> None:
    resuming = {"image": "a:1", "training": {"checkpoints": "8f3a"}}
    stage, version = volume.stage(shared_out=True, decisive=resuming), volume.put(a="one")
    (item,) = plan.plan(stage, "words-1", {"texts": version})
    out = volume.root / item["out"]
    (out / "partial.txt").write_text("so far")
    (again,) = plan.plan(stage, "words-1", {"texts": version})
    assert (again["id"], again["out"]) == (item["id"], item["out"])
    keep(stage, "words-1", 0, out)
    commit(stage, "words-1")
    assert volume.files() == {"partial.txt": "so far"}
    plan.finish(stage, "words-1")
    assert not out.exists()


def test_a_job_that_resumes_on_another_input_begins_with_no_results(volume: Volume) -> None:
    stage = volume.stage(shared_out=True, decisive={"training": {"checkpoints": "8f3a"}})
    (item,) = plan.plan(stage, "words-1", {"texts": volume.put(a="one")})
    (volume.root / item["out"] / "partial.txt").write_text("of another input")
    (again,) = plan.plan(stage, "words-1", {"texts": volume.put(a="two")})
    assert not list((volume.root / again["out"]).iterdir())


def test_a_job_that_resumes_finds_what_a_try_by_an_older_tensorplane_wrote(volume: Volume) -> None:
    """That one named the folders by the numbers in its plan."""
    stage = volume.stage(shared_out=True, decisive={"training": {"checkpoints": "8f3a"}})
    for item in plan.plan(stage, "words-1", {"texts": volume.put(b="one", c="two")}):
        older = volume.made.store.root / "runs/words-1-upper.out" / item["item"]
        older.parent.mkdir(exist_ok=True)
        (volume.root / item["out"]).rename(older)
        (older / "partial.txt").write_text(item["item"])
    again = plan.plan(stage, "words-1", {"texts": volume.put(a="new", b="one", c="two")})
    found = [[path.read_text() for path in (volume.root / each["out"]).iterdir()] for each in again]
    assert found == [[], ["0"], ["1"]]


def test_a_job_without_checkpoints_leaves_no_results_of_its_former_tries(volume: Volume) -> None:
    stage, version = volume.stage(shared_out=True, decisive={"training": {"command": "3c1b"}}), volume.put(a="one")
    for _ in range(3):
        (item,) = plan.plan(stage, "words-1", {"texts": version})
        (volume.root / item["out"] / "weights").write_text("large")
    assert list((volume.made.store.root / "runs").glob("*.out-*")) == [volume.root / item["out"]]


def test_a_job_without_checkpoints_begins_anew_when_the_run_is_started_again(volume: Volume) -> None:
    stage, version = volume.stage(shared_out=True, decisive={"training": {"command": "3c1b"}}), volume.put(a="one")
    (item,) = plan.plan(stage, "words-1", {"texts": version})
    (volume.root / item["out"] / "stale.txt").write_text("of the first try")
    (again,) = plan.plan(stage, "words-1", {"texts": version})
    (volume.root / again["out"] / "a.txt").write_text("of the second")
    keep(stage, "words-1", 0, volume.root / again["out"])
    commit(stage, "words-1")
    assert volume.files() == {"a.txt": "of the second"}
    plan.finish(stage, "words-1")
    assert not list((volume.made.store.root / "runs").iterdir())


@pytest.mark.parametrize("resumes", [True, False])
def test_what_a_run_that_failed_has_left_goes_once_it_will_not_be_started_again(volume: Volume, resumes: bool) -> None:
    decisive = {"training": {"checkpoints": "8f3a"} if resumes else {}}
    stage = volume.stage(shared_out=True, decisive=decisive)
    other = volume.stage(name="of-upper", shared_out=True, decisive=decisive)
    runs = [each.store.root / "runs" for each in (volume.raw, volume.made)]
    old, failed, new = (f"words-{digit * 16}" for digit in "abc")
    for number, (each, run) in enumerate([(stage, old), (stage, failed), (other, failed), (other, old)]):
        for item in plan.plan(each, run, {"texts": volume.put(a=str(number))}):
            (volume.root / item["out"] / "weights").write_text("large")
    for path in (path for folder in runs for path in folder.glob(f"{old}-*")):
        os.utime(path, (0, 0))
    plan.plan(stage, new, {"texts": volume.put(a="new")})
    left = {path.name for folder in runs for path in folder.iterdir()}
    assert {name.partition(".")[0] for name in left} == {
        *(f"{run}-{name}" for run, name in [(failed, "upper"), (failed, "of-upper"), (old, "of-upper"), (new, "upper")])
    }
    assert any(name.startswith(f"{failed}-upper.out-") for name in left) == resumes
    assert any(name.startswith(f"{failed}-upper.in-") for name in left)
