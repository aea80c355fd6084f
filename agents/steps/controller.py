"""Takes the steps that runs wait for, several at a time. It may be killed at any point: a step that was taken or begun
is taken again, with the same result."""

from __future__ import annotations

import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Mapping
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field
from typing import Protocol

from agents.steps.waiting import Step
from tensorplane.datasets import Refused
from tensorplane.stages import steps
from tensorplane.stages.description import Stage

TRIES = 4
"""How often a step is tried that fails for a reason that may pass, such as a volume that does not answer."""
_BETWEEN_SECONDS = 2.0


class Objects(Protocol):
    """The runs in the cluster."""

    def waiting(self) -> list[Step]: ...
    def succeed(self, step: Step, said: str, outputs: Mapping[str, str]) -> None: ...
    def fail(self, step: Step, why: str) -> None: ...


@dataclass
class Controller:
    """Takes what waits at each look."""

    cluster: Objects
    pool: Executor
    said: Callable[[str], object] = lambda line: None
    """Called with what becomes of each step."""
    pause: Callable[[float], object] = time.sleep
    """Between two tries, in seconds."""
    _going: dict[tuple[str, str], Future[None]] = field(default_factory=dict)
    _failed: Counter[tuple[str, str]] = field(default_factory=Counter)

    def step(self) -> None:
        """One look. Raises OSError if the API server does not answer."""
        # Those that end after this are seen as waiting below, though they are answered.
        ended = {place for place, future in self._going.items() if future.done()}
        there = {step.place: step for step in self.cluster.waiting()}
        self._going = {place: future for place, future in self._going.items() if place in there and place not in ended}
        for place, step in there.items():
            if place not in self._going:
                self._going[place] = self.pool.submit(self._take, step)

    def _take(self, step: Step) -> None:
        """Take a step and tell its run. What fails before the run knows is tried again at a later look."""
        try:
            stage = Stage.parse(step.stage)
            where = f"run={step.run} stage={stage.name} {step.name}"
            try:
                taken = steps.take(step.name, stage, step.run, step.inputs)
            except Refused as error:
                self.said(f"{where} refused: {error}")
                self.cluster.fail(step, str(error))
                return
            self.cluster.succeed(step, taken.said, taken.outputs)
            self.said(f"{where} {taken.said}")
            self._failed.pop(step.place, None)
        except Exception as error:  # whatever it is, the run must not wait for ever
            self._again(step, error)

    def _again(self, step: Step, error: Exception) -> None:
        traceback.print_exception(error, file=sys.stderr)
        self._failed[step.place] += 1
        if self._failed[step.place] < TRIES:
            self.pause(_BETWEEN_SECONDS)
            return
        try:
            self.cluster.fail(step, f"{_problem(step, error)}; run the stage again")
            del self._failed[step.place]
        except OSError as unanswered:
            print(f"{type(unanswered).__name__}: {unanswered}", file=sys.stderr, flush=True)


def _problem(step: Step, error: Exception) -> str:
    if isinstance(error, OSError):
        return f"{error.filename or step.name}: {error.strerror or error}"
    return f"{step.name}: {type(error).__name__}: {error}"
