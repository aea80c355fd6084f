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

from tensorplane.datasets import Refused
from tensorplane.datasets.errors import Gone, shortened
from tensorplane.stages import steps
from tensorplane.stages.description import Stage
from tensorplane.stages.item_results import PendingResults

from .workflow import Step

MOST_TRIES = 4
"""How often a step is tried that fails for a reason that may pass, such as a volume that does not answer."""
_BETWEEN_SECONDS = 2.0


class Objects(Protocol):
    """The runs in the cluster."""

    def list_steps(self) -> list[Step]: ...
    def succeed(self, step: Step, message: str, outputs: Mapping[str, str]) -> None: ...
    def fail(self, step: Step, why: str) -> None: ...


@dataclass
class Controller:
    """Takes the steps of one pipeline's runs."""

    cluster: Objects
    pool: Executor
    log: Callable[[str], object] = lambda line: None
    """Called with a line on the result of each step."""
    acting: Callable[[], AbstractContextManager[object]] = nullcontext
    """Around each step: the leader does not release its Lease before the step ends."""
    pause: Callable[[float], object] = time.sleep
    """Between two tries, in seconds."""
    _steps: dict[tuple[str, str], Step] = field(default_factory=dict)
    _tries: dict[tuple[str, str], Future[bool]] = field(default_factory=dict)
    """The last try of each step. Its result: whether the node is set, so that no other try is needed."""
    _awaited: dict[tuple[str, str], PendingResults] = field(default_factory=dict)
    _failed: Counter[tuple[str, str]] = field(default_factory=Counter)

    def observe(self) -> None:
        """Lists the steps that runs wait for. Raises OSError if the API server does not answer."""
        # A step that ends after this is listed below as waiting, though its node is set.
        ended = {key for key, future in self._tries.items() if future.done()}
        self._steps = {step.key: step for step in self.cluster.list_steps()}
        self._tries = {key: one for key, one in self._tries.items() if key in self._steps and key not in ended}
        # Copied first: a step that is being taken may add its own.
        self._awaited = {key: one for key, one in list(self._awaited.items()) if key in self._steps}

    def reconcile(self) -> bool:
        """Begins the steps that wait. Returns whether a commit waits for results, which no change of a run tells."""
        for key, step in self._steps.items():
            last = self._tries.get(key)
            if last is None or (last.done() and not last.result()):
                self._tries[key] = self.pool.submit(self._try, step)
        return any(step.name == "commit" for step in self._steps.values())

    def _try(self, step: Step) -> bool:
        with self.acting():
            return self._take(step)

    def _take(self, step: Step) -> bool:
        """Takes a step and sets its node, unless the step has to wait. If it fails before that, it is tried again."""
        try:
            if not self._can_begin(step):
                return False
            stage = Stage.parse(step.stage)
            about = f"run={step.run} stage={stage.name} {step.name}"
            try:
                taken = steps.take(step.name, stage, step.run, step.inputs)
            except Gone:  # contents of what it keeps, which another try keeps again
                raise
            except Refused as error:
                self.log(f"{about} refused: {error}")
                self.cluster.fail(step, str(error))
                return True
            self.cluster.succeed(step, taken.said, taken.outputs)
            self.log(f"{about} {taken.said}")
            self._failed.pop(step.key, None)
        except Exception as error:  # whatever it is, the run must not wait for ever
            return self._handle_failure(step, error)
        return True

    def _can_begin(self, step: Step) -> bool:
        """Whether a step can be taken now: a commit once it has all results, or gets no more, and others at once."""
        if step.name != "commit" or step.is_over:
            return True
        if step.key not in self._awaited:
            self._awaited[step.key] = PendingResults(Stage.parse(step.stage), step.run)
        return self._awaited[step.key].are_there()

    def _handle_failure(self, step: Step, error: Exception) -> bool:
        """Handles a try that failed. Returns whether the node is set, so that the step is not tried again."""
        if isinstance(error, Refused):
            self.log(f"run={step.run} {step.name} did not succeed: {error}")
        else:
            traceback.print_exception(error, file=sys.stderr)
        self._failed[step.key] += 1
        if self._failed[step.key] < MOST_TRIES:
            self.pause(_BETWEEN_SECONDS)
            return False
        try:
            self.cluster.fail(step, _problem(step, error))
            del self._failed[step.key]
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
