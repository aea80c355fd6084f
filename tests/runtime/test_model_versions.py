"""Of two gangs of one run that publish, the former one adds nothing once the later one has begun, wherever it was."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tensorplane import model_versions
from tensorplane.checkpoints.run_folder import TakenOver
from tests.support import counts
from tests.support.interleaved import TURNS, interleaved
from tests.support.interrupted import CHANGES, Killed, interrupted

_DRAWS = counts.of(quick=30, nightly=3000)
_CALLS = (*CHANGES, "rmdir", "makedirs", "scandir", "listdir", "stat")
_FILES = ("saved_model.pb", "variables/variables.index", "variables/variables.data-00000-of-00001")


class _Gangs:
    """Gangs of one run, of which the newest has it."""

    def __init__(self, base: Path) -> None:
        self.base, self.newest = base, 0

    def start(self) -> int:
        """Takes the run over: the number of the gang."""
        self.newest += 1
        number = self.newest
        model_versions.fence_former(self.base, "digits-1", is_ours=lambda: self.newest == number)
        return number

    def publish(self, gang: int) -> int:
        """What a gang does in the end."""
        return model_versions.add(_write(gang), self.base, "digits-1", is_ours=lambda: self.newest == gang)

    def versions(self) -> dict[str, set[str]]:
        """Which gangs' files each version has."""
        return {
            str(number): {(self.base / str(number) / name).read_text() for name in _FILES}
            for number in model_versions.versions(self.base)
        }


def _write(gang: int) -> Callable[[Path], None]:
    def write(folder: Path) -> None:
        for name in _FILES:
            # As TensorFlow does it: a folder that somebody has removed is created again.
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(str(gang))

    return write


@pytest.mark.counted
@settings(max_examples=_DRAWS)
@given(at=st.lists(st.integers(1, 60), min_size=1, max_size=3), publishes=st.booleans(), other=st.booleans())
def test_a_former_gang_that_goes_on_adds_nothing(
    tmp_path_factory: pytest.TempPathFactory, at: list[int], publishes: bool, other: bool
) -> None:
    """Each gang starts in the middle of the one before, at any call to the system; it publishes then or afterwards."""
    gangs = _Gangs(tmp_path_factory.mktemp("volume") / "digits")
    seen: list[dict[str, set[str]]] = []

    def gang(rest: list[int]) -> None:
        number = gangs.start()
        if not rest:
            if other:
                model_versions.add(_write(0), gangs.base, "digits-2")
            if publishes:
                gangs.publish(number)
            seen.append(gangs.versions())
            return
        with interrupted(rest[0], lambda: gang(rest[1:]), _CALLS), contextlib.suppress(TakenOver):
            gangs.publish(number)

    gang(at)
    if seen:
        assert gangs.versions() == seen[0], "what the last gang left is what there is"
    assert all(len(files) == 1 for files in gangs.versions().values()), "each version is of one gang"
    published = gangs.publish(gangs.newest)
    assert model_versions.published_by(gangs.base / str(published)) == "digits-1"
    assert all(path.name.isdecimal() for path in gangs.base.iterdir()), "no draft is left"


@pytest.mark.counted
@settings(max_examples=_DRAWS)
@given(turns=TURNS, count=st.integers(2, 3))
def test_of_gangs_that_run_at_once_the_last_one_publishes(
    tmp_path_factory: pytest.TempPathFactory, turns: list[int], count: int
) -> None:
    gangs = _Gangs(tmp_path_factory.mktemp("volume") / "digits")
    when_started: dict[int, dict[str, set[str]]] = {}

    def gang() -> None:
        number = gangs.start()
        when_started[number] = gangs.versions()
        gangs.publish(number)

    failures = interleaved([gang] * count, turns, _CALLS)
    assert [failure for failure in failures if failure and not isinstance(failure, TakenOver)] == []
    assert any(failure is None for failure in failures), "the last one is not kept from publishing"
    (content,) = gangs.versions().values()
    assert content == {str(gangs.newest)} or content in when_started[gangs.newest].values()


@pytest.mark.counted
@settings(max_examples=_DRAWS)
@given(kills=st.lists(st.integers(1, 60), max_size=3))
def test_a_gang_that_is_killed_leaves_nothing_that_the_next_does_not_remove(
    tmp_path_factory: pytest.TempPathFactory, kills: list[int]
) -> None:
    gangs = _Gangs(tmp_path_factory.mktemp("volume") / "digits")
    for at in kills:
        with interrupted(at, calls=_CALLS), contextlib.suppress(Killed):
            gangs.publish(gangs.start())
        assert all(len(files) == 1 for files in gangs.versions().values())
    gangs.publish(gangs.start())
    assert all(path.name.isdecimal() for path in gangs.base.iterdir())
    assert list(gangs.versions()) == ["1"], "a version that was published is not published again"


def test_the_draft_of_an_earlier_library_is_not_published_either(tmp_path: Path) -> None:
    former = tmp_path / ".draft-digits-1"
    _write(1)(former)
    model_versions.fence_former(tmp_path, "digits-1", is_ours=lambda: True)
    assert not former.exists()


def test_a_gang_whose_run_is_taken_over_while_it_writes_publishes_nothing(tmp_path: Path) -> None:
    """Also before the later gang has removed its gate."""
    gangs = _Gangs(tmp_path)
    former = gangs.start()

    def write(folder: Path) -> None:
        _write(former)(folder)
        gangs.newest += 1

    with pytest.raises(TakenOver):
        model_versions.add(write, tmp_path, "digits-1", is_ours=lambda: gangs.newest == former)
    assert gangs.versions() == {}
