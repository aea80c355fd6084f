"""A sweep's journal: the newest controller has it, whatever a former one still writes; an earlier version's is kept."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tensorplane.agents.sweep.journal import Journal, TakenOver
from tests.support import counts
from tests.support.interleaved import TURNS, interleaved
from tests.support.interrupted import CHANGES, Killed, interrupted

_DRAWS = counts.of(quick=30, nightly=3000)
_CALLS = (*CHANGES, "stat", "listdir", "scandir", "fsync")


def _changes(journal: Journal) -> list[Any]:
    return [one["change"] for one in journal.backend.read_logs(0)]


def _append(journal: Journal, change: object) -> None:
    journal.backend.append_logs([{"change": change}])


class _Controllers:
    """Controllers of one sweep, and what each saw at its start and was told to be written."""

    def __init__(self, folder: Path, *, earlier: bool = False) -> None:
        """`earlier`: a controller of an earlier version has begun the sweep."""
        self.file = folder / "sweeps" / "digits-1a.journal"
        self.told: list[str] = []
        self.number = 0
        if earlier:
            self.file.parent.mkdir()
            self.file.write_text('{"change":"c0-0"}\n')
            self.told.append("c0-0")

    def start(self) -> tuple[str, Journal]:
        self.number += 1
        return f"c{self.number}", Journal(self.file)

    def run(self, changes: int = 3) -> list[Any]:
        """One of them: what it leaves."""
        name, journal = self.start()
        left = _changes(journal)
        for number in range(changes):
            change = f"{name}-{number}"
            _append(journal, change)
            self.told.append(change)
            left.append(change)
            assert _changes(journal) == left, "a controller finds what it has found and written, and nothing else"
        return left

    def assert_kept(self) -> None:
        """Nothing is lost that a controller was told to be written, and nothing is there twice."""
        there = _changes(Journal(self.file))
        assert set(self.told) <= set(there) and len(set(there)) == len(there)
        assert [path.name for path in self.file.parent.iterdir() if not path.name.startswith(".draft-")] == [
            f".{self.file.name}"
        ]


@pytest.mark.counted
@settings(max_examples=_DRAWS)
@given(turns=TURNS, count=st.integers(2, 3), earlier=st.booleans())
def test_of_controllers_that_run_at_once_the_last_one_goes_on(
    tmp_path_factory: pytest.TempPathFactory, turns: list[int], count: int, earlier: bool
) -> None:
    controllers = _Controllers(tmp_path_factory.mktemp("volume"), earlier=earlier)
    failures = interleaved([controllers.run] * count, turns, _CALLS)
    assert [failure for failure in failures if failure and not isinstance(failure, TakenOver)] == []
    assert any(failure is None for failure in failures)
    controllers.assert_kept()


@pytest.mark.counted
@settings(max_examples=_DRAWS)
@given(at=st.lists(st.integers(1, 60), min_size=1, max_size=3), earlier=st.booleans())
def test_a_former_controller_that_goes_on_adds_nothing(
    tmp_path_factory: pytest.TempPathFactory, at: list[int], earlier: bool
) -> None:
    """Each controller runs in the middle of the one before, at any call to the system."""
    controllers = _Controllers(tmp_path_factory.mktemp("volume"), earlier=earlier)
    left: list[list[Any]] = []

    def controller(rest: list[int]) -> None:
        if not rest:
            left.append(controllers.run())
            return
        with interrupted(rest[0], lambda: controller(rest[1:]), _CALLS), contextlib.suppress(TakenOver):
            controllers.run()

    controller(at)
    if left:
        assert _changes(Journal(controllers.file))[: len(left[0])] == left[0]
    controllers.assert_kept()


@pytest.mark.counted
@settings(max_examples=_DRAWS)
@given(kills=st.lists(st.integers(1, 60), max_size=3), earlier=st.booleans())
def test_a_controller_that_is_killed_loses_nothing(
    tmp_path_factory: pytest.TempPathFactory, kills: list[int], earlier: bool
) -> None:
    controllers = _Controllers(tmp_path_factory.mktemp("volume"), earlier=earlier)
    for at in kills:
        with interrupted(at, calls=_CALLS), contextlib.suppress(Killed):
            controllers.run()
    controllers.run()
    controllers.assert_kept()


def test_what_a_former_controller_writes_to_the_file_that_it_has_open_is_not_read(tmp_path: Path) -> None:
    controllers = _Controllers(tmp_path)
    _, former = controllers.start()
    _append(former, "before")
    with former.file.open("ab") as held:
        _, newer = controllers.start()
        held.write(b'{"change":"late"}\n')
    with pytest.raises(TakenOver, match=r"digits-1a\.journal: another controller has taken this sweep over"):
        _append(former, "later")
    with pytest.raises(TakenOver):
        former.check()
    _append(newer, "after")
    assert _changes(newer) == ["before", "after"]
    assert _changes(controllers.start()[1]) == ["before", "after"]


def test_the_journal_of_an_earlier_version_is_continued_although_its_controller_holds_it(tmp_path: Path) -> None:
    controllers = _Controllers(tmp_path, earlier=True)
    with controllers.file.open("a") as cut_off:
        cut_off.write('{"cha')
    # As that version does it: a lock as long as it lives, and the file opened by its name for each line.
    with controllers.file.with_suffix(".lock").open("ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        _, journal = controllers.start()
    with controllers.file.open("ab") as late:
        late.write(b'{"change":"late"}\n')
    _append(journal, "after")
    assert _changes(controllers.start()[1]) == ["c0-0", "after"]
    assert not controllers.file.with_suffix(".lock").exists()


def test_a_line_that_a_full_disk_cuts_off_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, journal = _Controllers(tmp_path).start()
    _append(journal, "before")

    def full(_: int) -> None:
        os.truncate(journal.file, journal.file.stat().st_size - 4)
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(OSError, match="No space left"):
            _append(journal, "lost")
    _append(journal, "after")
    assert _changes(journal) == ["before", "after"]
