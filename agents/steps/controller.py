"""Takes the steps that runs wait for, several at a time. It may be killed at any point: a step that was taken or begun
is taken again, with the same result."""

from __future__ import annotations

import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Mapping
from concurrent.futures import Executor, Future
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Protocol

from agents.steps.workflow import Step
from tensorplane.datasets import Refused
from tensorplane.datasets.refused import Gone, shortened
from tensorplane.stages import steps
from tensorplane.stages.description import Stage
from tensorplane.stages.kept import Awaited

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
    """Takes what runs wait for."""

    cluster: Objects
    pool: Executor
    said: Callable[[str], object] = lambda line: None
    """Called with what becomes of each step."""
    working: Callable[[], AbstractContextManager[object]] = nullcontext
    """Around each step: it begins while this program may act, and another one waits for its end."""
    pause: Callable[[float], object] = time.sleep
    """Between two tries, in seconds."""
    _there: dict[tuple[str, str], Step] = field(default_factory=dict)
    _going: dict[tuple[str, str], Future[bool]] = field(default_factory=dict)
    """The last try of each step. Its result: whether the run knows, so that no other one is due before the next look.
    """
    _awaited: dict[tuple[str, str], Awaited] = field(default_factory=dict)
    _failed: Counter[tuple[str, str]] = field(default_factory=Counter)

    def look(self) -> None:
        """See what runs wait for. Raises OSError if the API server does not answer."""
        # Those that end after this are seen as waiting below, though they are answered.
        ended = {place for place, future in self._going.items() if future.done()}
        self._there = {step.place: step for step in self.cluster.waiting()}
        self._going = {place: one for place, one in self._going.items() if place in self._there and place not in ended}
        # Copied first: a step that is being taken may add its own.
        self._awaited = {place: one for place, one in list(self._awaited.items()) if place in self._there}

    def take(self) -> bool:
        """Begin what is due; whether a commit waits for results, which no change of a run tells."""
        for place, step in self._there.items():
            last = self._going.get(place)
            if last is None or (last.done() and not last.result()):
                self._going[place] = self.pool.submit(self._try, step)
        return any(step.name == "commit" for step in self._there.values())

    def _try(self, step: Step) -> bool:
        with self.working():
            return self._take(step)

    def _take(self, step: Step) -> bool:
        """Take a step and tell its run, unless it is not due. What fails before the run knows is tried again."""
        try:
            if not self._is_due(step):
                return False
            stage = Stage.parse(step.stage)
            where = f"run={step.run} stage={stage.name} {step.name}"
            try:
                taken = steps.take(step.name, stage, step.run, step.inputs)
            except Gone:  # contents of what it keeps, which another try keeps again
                raise
            except Refused as error:
                self.said(f"{where} refused: {error}")
                self.cluster.fail(step, str(error))
                return True
            self.cluster.succeed(step, taken.said, taken.outputs)
            self.said(f"{where} {taken.said}")
            self._failed.pop(step.place, None)
        except Exception as error:  # whatever it is, the run must not wait for ever
            return self._has_failed(step, error)
        return True

    def _is_due(self, step: Step) -> bool:
        """Whether a commit has all results, or gets no more. Other steps are due at once."""
        if step.name != "commit" or step.is_over:
            return True
        if step.place not in self._awaited:
            self._awaited[step.place] = Awaited(Stage.parse(step.stage), step.run)
        return self._awaited[step.place].are_there()

    def _has_failed(self, step: Step, error: Exception) -> bool:
        """Whether the run knows that it will not be tried again."""
        if isinstance(error, Refused):
            self.said(f"run={step.run} {step.name} did not succeed: {error}")
        else:
            traceback.print_exception(error, file=sys.stderr)
        self._failed[step.place] += 1
        if self._failed[step.place] < TRIES:
            self.pause(_BETWEEN_SECONDS)
            return False
        try:
            self.cluster.fail(step, _problem(step, error))
            del self._failed[step.place]
        except OSError as unanswered:
            print(f"{type(unanswered).__name__}: {unanswered}", file=sys.stderr, flush=True)
            return False
        return True


def _problem(step: Step, error: Exception) -> str:
    if isinstance(error, Refused):
        return str(error)
    if isinstance(error, OSError):
        return f"{shortened(str(error.filename or step.name))}: {error.strerror or error}; run the stage again"
    return f"{step.name}: {type(error).__name__}: {error}; run the stage again"
