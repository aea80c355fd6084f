"""Programs that take turns: each stops before every change to files, and a list says which goes on."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest
from hypothesis import strategies as st

from tests.support.interrupted import CHANGES

TURNS = st.lists(st.tuples(st.integers(0, 2), st.integers(1, 40)), max_size=8).map(
    lambda runs: [program for program, length in runs for _ in range(length)]
)
"""Turns of up to three programs: each goes on for a while."""


def interleaved(
    programs: Sequence[Callable[[], object]], turns: Iterable[int], calls: Sequence[str] = CHANGES
) -> list[BaseException | None]:
    """Run all programs to their ends, one call to the system at a time; how each failed. `turns`: which goes on next,
    counted around those that have not ended; after the last turn, each runs to its end.
    """
    running = [_Program(program) for program in programs]
    by_thread = {each.thread: each for each in running}

    def stopping(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            if own := by_thread.get(threading.current_thread()):
                own.stop()
            return real(*arguments, **options)

        return call

    with pytest.MonkeyPatch.context() as patch:
        for name in calls:
            patch.setattr(os, name, stopping(getattr(os, name)))
        left = iter(turns)
        while alive := [each for each in running if not each.ended]:
            alive[next(left, 0) % len(alive)].go_on()
    for each in running:
        each.thread.join()
    return [each.failure for each in running]


class _Program:
    """One of them, in a thread that runs only between `go_on` and its next stop."""

    def __init__(self, program: Callable[[], object]) -> None:
        self.ended = False
        self.failure: BaseException | None = None
        self._may_run, self._stopped = threading.Semaphore(0), threading.Semaphore(0)
        self._program = program
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def go_on(self) -> None:
        self._may_run.release()
        self._stopped.acquire()

    def stop(self) -> None:
        self._stopped.release()
        self._may_run.acquire()

    def _run(self) -> None:
        self._may_run.acquire()
        try:
            self._program()
        except BaseException as error:
            self.failure = error
        self.ended = True
        self._stopped.release()
