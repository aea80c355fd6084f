"""A run's folder has one writer, whatever a former one still does and wherever a kill cut it off."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tensorplane.checkpoints.run_folder import RECORD, RunFolder, TakenOver
from tests.support import counts
from tests.support.interrupted import Killed, interrupted

_DRAWS = counts.of(quick=50, nightly=2000)


def test_a_new_run_is_found_by_all_who_read(tmp_path: Path) -> None:
    run = RunFolder(tmp_path / "checkpoints" / "digits-1")
    (tmp_path / "checkpoints").mkdir()
    folder = run.take_over("1.0")
    assert folder.name == "digits-1", "who publishes a model names the run by its folder"
    (folder / "checkpoint").write_text("100")
    assert (tmp_path / "checkpoints" / "digits-1" / "checkpoint").read_text() == "100"
    assert json.loads((folder / RECORD).read_text()) == {"version": "1.0", "starts": 1}


def test_a_former_writer_cannot_write_any_more(tmp_path: Path) -> None:
    run = RunFolder(tmp_path / "digits-1")
    former = run.take_over("1.0")
    (former / "draft").write_text("200")
    current = RunFolder(tmp_path / "digits-1").take_over("1.1")
    with pytest.raises(FileNotFoundError):
        (former / "draft").replace(former / "checkpoint")
    with pytest.raises(TakenOver):
        run.finish(former)
    assert (current / "draft").read_text() == "200", "what was saved is the next writer's"
    assert json.loads((tmp_path / "digits-1" / RECORD).read_text()) == {"version": "1.1", "starts": 2}


def test_a_file_that_a_former_writer_holds_open_is_no_checkpoint(tmp_path: Path) -> None:
    former = RunFolder(tmp_path / "digits-1").take_over("1.0")
    with (former / "ckpt.tmp").open("w") as still_open:
        current = RunFolder(tmp_path / "digits-1").take_over("1.0")
        still_open.write("late")
    with pytest.raises(FileNotFoundError):
        (former / "ckpt.tmp").rename(former / "ckpt")
    assert not (current / "ckpt").exists()


def test_a_folder_beside_the_writers_is_no_writer(tmp_path: Path) -> None:
    run = RunFolder(tmp_path / "digits-1")
    (run.take_over("1.0") / "checkpoint").write_text("100")
    # As an earlier version of the library left it, whose former writer woke up late.
    (tmp_path / ".digits-1" / "0" / "digits-1").mkdir(parents=True)
    assert (run.take_over("1.1") / "checkpoint").read_text() == "100"
    assert (tmp_path / "digits-1" / "checkpoint").read_text() == "100"


def test_a_finished_run_says_so(tmp_path: Path) -> None:
    run = RunFolder(tmp_path / "digits-1")
    assert not run.finished
    folder = run.take_over("1.0")
    assert not run.finished
    run.finish(folder)
    assert run.finished
    assert RunFolder(tmp_path / "digits-1").finished


def test_the_checkpoints_of_a_version_without_writers_are_taken_over(tmp_path: Path) -> None:
    (tmp_path / "digits-1").mkdir()
    (tmp_path / "digits-1" / "checkpoint").write_text("300")
    folder = RunFolder(tmp_path / "digits-1").take_over("1.0")
    assert (folder / "checkpoint").read_text() == "300"
    assert (tmp_path / "digits-1" / "checkpoint").read_text() == "300"


def test_a_record_that_is_damaged_is_no_end(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "digits-1").take_over("1.0")
    (folder / RECORD).write_text("{")
    assert not RunFolder(tmp_path / "digits-1").finished


@pytest.mark.counted
@settings(max_examples=_DRAWS)
@given(kills=st.lists(st.integers(1, 12), max_size=4), old=st.booleans())
def test_nothing_is_lost_wherever_takeovers_are_killed(
    tmp_path_factory: pytest.TempPathFactory, kills: list[int], old: bool
) -> None:
    base = tmp_path_factory.mktemp("volume")
    path = base / "digits-1"
    folder = path
    if old:
        path.mkdir()
    else:
        folder = RunFolder(path).take_over("1.0")
    (folder / "checkpoint").write_text("400")

    for call in kills:
        with interrupted(call), contextlib.suppress(Killed):
            RunFolder(path).take_over("1.0")
    folder = RunFolder(path).take_over("1.0")
    assert (folder / "checkpoint").read_text() == "400"
    assert (path / "checkpoint").read_text() == "400"


@pytest.mark.counted
@settings(max_examples=_DRAWS)
@given(calls=st.lists(st.integers(1, 14), min_size=1, max_size=3), old=st.booleans(), first=st.booleans())
def test_of_gangs_that_take_over_at_once_one_is_the_writer(
    tmp_path_factory: pytest.TempPathFactory, calls: list[int], old: bool, first: bool
) -> None:
    """Each takes the run over in the middle of the one before, at any call to the system."""
    base = tmp_path_factory.mktemp("volume")
    path = base / "digits-1"
    if old:
        path.mkdir()
        (path / "checkpoint").write_text("500")
    elif not first:
        (RunFolder(path).take_over("1.0") / "checkpoint").write_text("500")
    writers: list[Path] = []

    def gang(rest: list[int]) -> None:
        between = interrupted(rest[0], lambda: gang(rest[1:])) if rest else contextlib.nullcontext()
        with between, contextlib.suppress(TakenOver):
            writers.append(RunFolder(path).take_over("1.0"))

    gang(calls)
    alive = [writer for writer in writers if writer.exists()]
    assert len(alive) == 1
    assert path.resolve() == alive[0].resolve(), "all who read see what the writer writes"
    if old or not first:
        assert (path / "checkpoint").read_text() == "500"
