"""Stages of a pipeline without a cluster: plan, keep and commit as the pods of a run call them, and what they skip."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from tensorplane.datasets import Dataset, Refused, retention
from tensorplane.datasets.retention import Rule
from tensorplane.datasets.tree import File
from tensorplane.stages import parts, plan
from tensorplane.stages.commit import commit
from tensorplane.stages.description import Input
from tensorplane.stages.item_results import PendingResults
from tests.runtime.stage_volume import Volume, Work


@pytest.fixture
def volume(tmp_path: Path) -> Volume:
    return Volume(tmp_path)


def test_a_run_makes_a_version_that_says_what_made_it(volume: Volume) -> None:
    version = volume.put(a="one", b="two")
    assert volume.run(volume.stage(), version) == {"a.txt": "ONE", "b.txt": "TWO"}
    (made,) = volume.made.log()
    assert made.message == "words/upper"
    assert made.provenance == {
        "pipeline": "words",
        "stage": "upper",
        "run": "words-1",
        "inputs": [{"name": "texts", "dataset": "raw", "version": volume.raw.resolve().version, "commit": version}],
        "image": "a:1",
        "command": ["upper"],
        "parts": {"parts": 2, "done": 2, "skipped": 0, "failed": 0},
    }


def test_a_version_says_on_which_machines_its_parts_were_made(volume: Volume) -> None:
    early = {"from": "2026-12-01T10:00:00Z", "to": "2026-12-01T10:00:05Z"}
    late = {"from": "2026-12-01T10:00:02Z", "to": "2026-12-01T10:00:09Z"}
    volume.ran = iter([{"node": "a", **early}, {"node": "a", **late}, {"node": "b", **late}])
    volume.run(volume.stage(), volume.put(a="one", b="two", c="three"))
    (made,) = volume.made.log()
    assert made.provenance["started"] == early["from"]
    assert made.provenance["machines"] == [
        {"node": "a", "parts": 2, "from": early["from"], "to": late["to"]},
        {"node": "b", "parts": 1, **late},
    ]
    # A result that another run made was made where that run was, then.
    volume.ran = iter([{"node": "c", **late}])
    volume.run(volume.stage(), volume.put(a="one", d="four"))
    machines = next(iter(volume.made.log())).provenance["machines"]
    assert [(each["node"], each["parts"], each.get("run")) for each in machines] == [
        ("a", 1, "words-1"),
        ("c", 1, None),
    ]


def test_only_what_changed_is_worked_on_and_removed_inputs_lose_their_results(volume: Volume) -> None:
    volume.run(volume.stage(), volume.put(a="one", b="two", c="three"))
    assert volume.run(volume.stage(), volume.put(a="one", b="zwei", d="four")) == {
        "a.txt": "ONE",
        "b.txt": "ZWEI",
        "d.txt": "FOUR",
    }
    assert volume.worked == 2
    assert volume.counts == {"parts": 3, "done": 2, "skipped": 1, "failed": 0}


def test_an_earlier_version_is_made_again_without_work(volume: Volume) -> None:
    first, second = volume.put(a="one"), volume.put(a="two")
    volume.run(volume.stage(), first)
    volume.run(volume.stage(), second)
    assert volume.run(volume.stage(), first) == {"a.txt": "ONE"}
    assert volume.worked == 0


def test_a_former_program_makes_its_version_the_newest_again_without_work_and_with_its_lineage(volume: Volume) -> None:
    def lower(inputs: Mapping[str, Path], out: Path) -> None:
        (out / "a.txt").write_text((inputs["texts"] / "a.txt").read_text().lower())

    version, other = volume.put(a="One"), volume.stage(decisive={"image": "a:2"})
    assert volume.run(volume.stage(), version) == {"a.txt": "ONE"}
    assert volume.run(other, version, work=lower) == {"a.txt": "one"}
    assert volume.run(volume.stage(), version) == {"a.txt": "ONE"}
    newest, _, first = volume.made.log()
    assert (volume.worked, newest.version, newest.provenance["run"]) == (0, first.version, "words-3")
    assert newest.provenance["inputs"] == first.provenance["inputs"]
    assert newest.provenance["image"] == "a:1"


@pytest.mark.parametrize(
    ("reprocess", "cache", "worked", "files"),
    [
        ("all", True, 3, {"a.txt": "one", "b.txt": "two", "c.txt": "three"}),
        ("new", True, 1, {"a.txt": "ONE", "b.txt": "TWO", "c.txt": "three"}),
        ("all", False, 3, {"a.txt": "one", "b.txt": "two", "c.txt": "three"}),
    ],
)
def test_a_changed_stage_does_with_old_inputs_what_reprocess_says(
    volume: Volume, reprocess: str, cache: bool, worked: int, files: dict[str, str]
) -> None:
    def lower(inputs: Mapping[str, Path], out: Path) -> None:
        for path in inputs["texts"].iterdir():
            (out / path.name).write_text(path.read_text().lower())

    volume.run(volume.stage(), volume.put(a="one", b="two"))
    changed = volume.stage(decisive={"image": "a:2"}, reprocess=reprocess, cache=cache)
    assert volume.run(changed, volume.put(a="one", b="two", c="three"), work=lower) == files
    assert volume.worked == worked


def _tagged(tag: str) -> Work:
    def work(inputs: Mapping[str, Path], out: Path) -> None:
        for path in inputs["texts"].iterdir():
            if tag == "2" and path.read_text() == "poison":
                raise ValueError
            (out / path.name).write_text(tag)

    return work


def test_former_results_are_those_of_the_program_that_was_taken_back(volume: Volume) -> None:
    version = volume.put(a="one")
    for tag in "121":
        volume.run(volume.stage(decisive={"image": tag}), version, work=_tagged(tag))
    newer = volume.stage(decisive={"image": "3"}, reprocess="new")
    assert volume.run(newer, version, work=_tagged("3")) == {"a.txt": "1"}


@pytest.mark.parametrize("tag", "123")
def test_a_rollback_of_the_output_undoes_no_results(volume: Volume, tag: str) -> None:
    """They come back with `reprocess: new`, unless the stage is the former one again."""
    version = volume.put(a="one")
    for each in "12":
        volume.run(volume.stage(decisive={"image": each}), version, work=_tagged(each))
    volume.made.rollback("main~1")
    stage = volume.stage(decisive={"image": tag}, reprocess="new")
    assert volume.run(stage, version, work=_tagged(tag)) == {"a.txt": "1" if tag == "1" else "2"}


def test_former_results_are_those_of_a_version_not_those_of_a_run_that_failed(volume: Volume) -> None:
    version = volume.put(a="one", b="poison")
    volume.run(volume.stage(decisive={"image": "1"}), version, work=_tagged("1"))
    with pytest.raises(Refused, match="1 of 2 parts failed"):
        volume.run(volume.stage(decisive={"image": "2"}), version, work=_tagged("2"))
    newer = volume.stage(decisive={"image": "3"}, reprocess="new")
    assert volume.run(newer, version, work=_tagged("3")) == {"a.txt": "1", "b.txt": "1"}


def test_a_poison_part_does_not_stop_the_others(volume: Volume) -> None:
    version = volume.put(a="one", b="poison", c="three")
    with pytest.raises(Refused, match=r"^upper: 1 of 3 parts failed \('b.txt'\), and mayFail is 0; read their logs"):
        volume.run(volume.stage(), version)
    assert not volume.made.branches()
    assert volume.run(volume.stage(may_fail=1), version) == {"a.txt": "ONE", "c.txt": "THREE"}
    assert volume.worked == 1, "the parts that succeeded are not repeated"
    assert volume.counts == {"parts": 3, "done": 0, "skipped": 2, "failed": 1}
    assert volume.made.resolve().provenance["failed"] == ["b.txt"]


def test_two_parts_that_make_different_files_of_one_name_are_refused(volume: Volume) -> None:
    def same_name(inputs: Mapping[str, Path], out: Path) -> None:
        for path in inputs["texts"].iterdir():
            (out / "out.txt").write_text(path.read_text())

    with pytest.raises(Refused, match=r"'out\.txt': parts 'a\.txt' and 'b\.txt' made different files of this name"):
        volume.run(volume.stage(), volume.put(a="one", b="two"), work=same_name)


def test_a_file_of_one_part_that_is_a_folder_of_another_is_refused(volume: Volume) -> None:
    def file_or_folder(inputs: Mapping[str, Path], out: Path) -> None:
        for path in inputs["texts"].iterdir():
            made = out / ("x" if path.name == "a.txt" else f"x/y/{path.name}")
            made.parent.mkdir(parents=True, exist_ok=True)
            made.write_text("x")

    expected = r"^'x': part 'a\.txt' made a file and part 'b\.txt' a folder of this name; derive names"
    with pytest.raises(Refused, match=expected):
        volume.run(volume.stage(), volume.put(a="one", b="two", c="three"), work=file_or_folder)


def test_a_repeated_commit_does_not_undo_what_others_committed_since(volume: Volume, tmp_path: Path) -> None:
    stage = volume.stage()
    (item,) = plan.plan(stage, "words-x", {"texts": volume.put(a="one")})
    volume.pod(stage, "words-x", item)
    first = commit(stage, "words-x")
    other = tmp_path / "other"
    other.mkdir()
    (other / "z.txt").write_text("by hand")
    volume.made.commit(other, whole=True)
    assert commit(stage, "words-x") == first
    assert volume.files() == {"z.txt": "by hand"}


def test_results_whose_contents_retention_deleted_are_made_again(volume: Volume) -> None:
    first = volume.put(a="one")
    volume.run(volume.stage(), first)
    volume.run(volume.stage(), volume.put(b="two"))
    volume.made.collect(Rule(last=1), grace_seconds=0)
    assert volume.run(volume.stage(), first) == {"a.txt": "ONE"}
    assert volume.worked == 1


def test_results_stay_until_their_run_has_ended(volume: Volume) -> None:
    stage, version = volume.stage(), volume.put(a="one")
    (item,) = plan.plan(stage, "words-1", {"texts": version})
    volume.pod(stage, "words-1", item)
    volume.made.collect(Rule(last=1), grace_seconds=0)
    retention.collect_now(volume.made.store, Rule(last=1), pause=lambda seconds: None)
    commit(stage, "words-1")
    assert volume.files() == {"a.txt": "ONE"}


def test_what_an_older_tensorplane_made_for_a_run_ends_with_the_run(volume: Volume) -> None:
    """The agent was updated during the run: folders have names without a dot."""
    stage, version = volume.stage(), volume.put(a="one")
    (item,) = plan.plan(stage, "words-1", {"texts": version})
    runs = volume.raw.store.root / "runs"
    shutil.move(volume.root / item["in-texts"], runs / "words-1-upper-texts-0123abcd/0")
    outs = volume.made.store.root / "runs/words-1-upper-out"
    outs.mkdir()
    others = [runs / f"words-1-upper-{name}" for name in ("texts-more-0123abcd", "more-texts-0123abcd", "more-out")]
    for other in others:
        other.mkdir()
    plan.finish(stage, "words-1")
    assert sorted(runs.iterdir()) == sorted(others)
    assert not outs.exists()


def test_versions_that_a_run_reads_are_kept_until_it_has_ended(volume: Volume) -> None:
    stage, version = volume.stage(), volume.put(a="one")
    todo = plan.plan(stage, "words-1", {"texts": version})
    volume.put(b="two")
    volume.raw.collect(Rule(last=1), grace_seconds=0)
    volume.pod(stage, "words-1", todo[0])
    commit(stage, "words-1")
    assert volume.files() == {"a.txt": "ONE"}
    assert (volume.root / todo[0]["in-texts"] / "a.txt").read_text() == "one", "a pod that is tried again finds it"
    plan.finish(stage, "words-1")
    assert not volume.raw.labels()
    for each in (volume.raw, volume.made):
        assert not list((each.store.root / "runs").iterdir())


def test_a_commit_is_due_once_each_part_that_needed_work_has_its_result(volume: Volume) -> None:
    stage = volume.stage()
    volume.run(stage, volume.put(a="one"))
    todo = plan.plan(stage, "words-x", {"texts": volume.put(a="one", b="two", c="poison")})
    awaited = PendingResults(stage, "words-x")
    assert len(todo) == 2
    assert not awaited.are_there()
    volume.pod(stage, "words-x", todo[0])
    volume.pod(stage, "words-x", todo[0])
    volume.pod(stage, "words-x", todo[1])
    assert not awaited.are_there(), "one has failed"
    kept = plan.kept_of(stage, "words-x")
    kept.write_text(f"{kept.read_text()}{todo[1]['item']}")
    assert not awaited.are_there(), "of a line that is being written, more may follow"
    kept.write_text(f"{kept.read_text()}\n")
    assert awaited.are_there()


def test_a_run_that_an_update_found_going_on_is_committed(volume: Volume) -> None:
    stage = volume.stage()
    (item,) = plan.plan(stage, "words-x", {"texts": volume.put(a="one")})
    volume.pod(stage, "words-x", item)
    path = plan.path_of(stage, "words-x")
    path.write_text(json.dumps({**json.loads(path.read_text()), "left_out": 3}))
    assert commit(stage, "words-x").counts == {"parts": 1, "done": 1, "skipped": 0, "failed": 0}


def test_a_stage_that_skips_everything_waits_for_no_result(volume: Volume) -> None:
    stage, version = volume.stage(), volume.put(a="one")
    volume.run(stage, version)
    assert plan.plan(stage, "words-x", {"texts": version}) == []
    assert PendingResults(stage, "words-x").are_there()


def test_inputs_joined_by_name_come_in_pairs(volume: Volume, tmp_path: Path) -> None:
    labels = Dataset(tmp_path / "datasets/labels")
    (tmp_path / "l").mkdir()
    for name in ("a", "c", "x"):
        (tmp_path / "l" / f"{name}.json").write_text(name)
    made = labels.commit(tmp_path / "l")
    first, second = volume.stage().inputs[0], Input("labels", "labels", labels.store.root, "datasets/labels", by="file")
    stage = volume.stage(inputs=(first, second), join="name")
    todo = plan.plan(stage, "r", {"texts": volume.put(a="one", b="two", c="three"), "labels": made.id})
    pairs = [sorted(path.name for name in ("texts", "labels") for path in (tmp_path / each[f"in-{name}"]).iterdir())
             for each in todo]  # fmt: skip
    assert pairs == [["a.json", "a.txt"], ["c.json", "c.txt"]]
    assert plan.Plan.read(plan.path_of(stage, "r")).left_out == {"texts": 1, "labels": 1}
    crossed = plan.plan(replace(stage, join="cross"), "s", {"texts": volume.raw.resolve().id, "labels": made.id})
    assert len(crossed) == 9


def test_a_new_file_changes_one_batch_seldom_two() -> None:
    files = {f"{number:05}.png": parts_file(number) for number in range(2000)}
    before = {part.digest for part in parts.split(files, by="whole", batch=20)}
    assert 60 <= len(before) <= 160
    worst = 0
    for number in range(30):
        more = {**files, f"{number * 61:05}x.png": parts_file(9999)}
        after = {part.digest for part in parts.split(more, by="whole", batch=20)}
        worst = max(worst, len(after - before))
    assert worst <= 2


def parts_file(number: int) -> File:
    return File(f"{number:064}", number)


def test_directories_are_parts_and_so_are_files_beside_them() -> None:
    files = {path: parts_file(1) for path in ("a/1", "a/b/2", "a.txt", "b/1")}
    assert [(part.name, part.paths) for part in parts.split(files, by="directory", batch=None)] == [
        ("a", ("a/1", "a/b/2")),
        ("a.txt", ("a.txt",)),
        ("b", ("b/1",)),
    ]


def test_the_end_of_a_stage_leaves_what_one_needs_whose_name_begins_with_its_own(volume: Volume) -> None:
    version = volume.put(a="one")
    short, long = volume.stage(), volume.stage(name="upper-more", dataset="more", root=volume.root / "datasets/more")
    plan.plan(short, "words-1", {"texts": version})
    (item,) = plan.plan(long, "words-1", {"texts": version})
    plan.finish(short, "words-1")
    assert (volume.root / item["in-texts"] / "a.txt").read_text() == "one"
    plan.finish(long, "words-1")
    assert not list((volume.raw.store.root / "runs").iterdir())
