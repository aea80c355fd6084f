"""The container that keeps a result waits for the end of the program that makes it."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path

import pytest

from tensorplane.stages.container_exit import exit_status


def _then(*steps: Callable[[], object]) -> Callable[[], object]:
    """What happens at each look that finds no end."""
    ahead = itertools.chain(steps)
    return lambda: next(ahead)()


@pytest.mark.parametrize("status", [0, 1, 137])
def test_a_program_ends_when_argo_has_noted_its_exit_status(tmp_path: Path, status: int) -> None:
    file = tmp_path / "main" / "exitcode"
    pause = _then(file.parent.mkdir, file.touch, lambda: file.write_text(f"{status}"))
    assert exit_status("main", tmp_path, pause) == status


def test_the_end_of_another_program_does_not_count(tmp_path: Path) -> None:
    (tmp_path / "wait").mkdir()
    (tmp_path / "wait" / "exitcode").write_text("0")
    with pytest.raises(StopIteration):
        exit_status("main", tmp_path, _then())
