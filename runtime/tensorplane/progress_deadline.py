"""The deadline of a command's progress: `progressDeadlineSeconds` in the settings.

Each process of training records its steps in a file (`step_record.py`). If the record stays as it is for too long after
a first step, the launcher ends the command so that it leaves the stacks of all its threads in the log: with SIGABRT, at
which Python's faulthandler needs no interpreter lock. A process that does not answer, as a stopped one, is killed.

A process of training also ends itself if its loss stays the same to the last bit for as long: it computes, and learns
nothing, because its loss is NaN or no gradient reaches a weight.

It only requires the standard library, because the launcher uses it after any command.
"""

from __future__ import annotations

import contextlib
import math
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from subprocess import Popen

from tensorplane import step_record
from tensorplane.outcome import Outcome, Reason

SECONDS = "TENSORPLANE_PROGRESS_DEADLINE"
"""Variable with the deadline."""
EXIT_STALLED = 128 + signal.SIGABRT
"""Exit code of a pod whose command made no progress, also if it had to be killed: one that counts as a failure."""
_BY_SIGNAL = {
    EXIT_STALLED: "the stacks of its threads are above",
    128 + signal.SIGKILL: "it was killed, because it did not answer SIGABRT",
}
"""What is known of the threads, by how the command ended."""
_LOOK_SECONDS = 1.0


def environment() -> Mapping[str, str]:
    """What a command of this pod needs to print its stacks; empty without a deadline."""
    return {"PYTHONFAULTHANDLER": "1"} if SECONDS in os.environ else {}


class Watch:
    """Watches one command on a thread."""

    def __init__(
        self, seconds: float, steps: Path, command: Popen[bytes], say: Callable[[str], None], answer_seconds: float
    ) -> None:
        """`steps`: the record of the command, which has started. `say`: prints a line. `answer_seconds`: time in which
        it prints its stacks and ends, before it is killed.
        """
        self._seconds, self._steps, self._command = seconds, steps, command
        self._say, self._answer_seconds = say, answer_seconds
        self._over = threading.Event()
        self._stall = self._done = ""
        """Why it was ended, empty if it was not; and its last record of a completed step."""
        self._thread = threading.Thread(target=self._watch, name="progress", daemon=True)
        self._thread.start()

    @classmethod
    def of_pod(
        cls, steps: Path, command: Popen[bytes], say: Callable[[str], None], answer_seconds: float
    ) -> Watch | None:
        """That of a command of this pod; None without a deadline."""
        return cls(float(os.environ[SECONDS]), steps, command, say, answer_seconds) if SECONDS in os.environ else None

    def ended(self, code: int) -> Outcome | None:
        """How the command ended, with this exit code, if that was for its lack of progress."""
        self._over.set()
        self._thread.join()
        record = step_record.read(self._steps)
        if record.startswith(step_record.SAME_LOSS):
            self._done, self._stall = record, f"the loss has not changed for {self._seconds:g} s"
        if not self._stall or code not in _BY_SIGNAL:
            return None
        # The stacks can be longer than what Kubernetes keeps of the log, which is its end.
        self._say(f"{self._stall}{_after(self._done)}; {_BY_SIGNAL[code]}")
        return Outcome(EXIT_STALLED, Reason(self._stall.encode()), early="", step=step_record.number(self._done))

    def _watch(self) -> None:
        look_seconds = min(_LOOK_SECONDS, self._seconds / 10)
        standstill = Standstill(self._seconds, most=2 * look_seconds)
        while not (self._done and standstill.too_long):
            if self._over.wait(look_seconds):
                return
            record = step_record.read(self._steps)
            if record.startswith(step_record.DONE):
                self._done = record
            elif record.startswith(step_record.TRAINED):
                self._done = ""
            standstill.look(record, written(self._steps))
        self._end()

    def _end(self) -> None:
        self._stall = f"no step for {self._seconds:g} s"
        self._say(f"{self._stall}{_after(self._done)}; the stacks of its threads follow, and the pod ends")
        _without_core(self._command.pid)
        self._command.send_signal(signal.SIGABRT)
        if not self._over.wait(self._answer_seconds):
            self._command.kill()


class Standstill:
    """How long something has stayed the same, from one look to the next."""

    def __init__(self, seconds: float, most: float, clock: Callable[[], float] = time.monotonic) -> None:
        """`most`: what counts between two looks. When a paused pod goes on, its process has had no time either."""
        self._seconds, self._most, self._clock = seconds, most, clock
        self._seen: object = None
        self._stood, self._looked = 0.0, clock()

    def look(self, *seen: object) -> None:
        """What it is now."""
        now = self._clock()
        self._stood = self._stood + min(now - self._looked, self._most) if seen == self._seen else 0.0
        self._seen, self._looked = seen, now

    @property
    def too_long(self) -> bool:
        """Whether it has been the same for these seconds."""
        return self._stood >= self._seconds


def _after(done: str) -> str:
    step = step_record.number(done)
    return "" if step is None else f" after step {step}"


def written(path: Path) -> int:
    """When the record was written last; -1 without one."""
    with contextlib.suppress(FileNotFoundError):
        return path.stat().st_mtime_ns
    return -1


def _without_core(process: int) -> None:
    """Lets a process end without a core dump, which would be as large as its memory."""
    with contextlib.suppress(ImportError, AttributeError, OSError):
        import resource

        resource.prlimit(process, resource.RLIMIT_CORE, (0, 0))


_LEAST_REPORTS = 10
"""A few reports may agree because the program reports seldom, or after a pause."""


class UnchangedLoss:
    """The loss of one process."""

    def __init__(
        self, environment: Mapping[str, str] = os.environ, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._seconds, self._clock = float(environment.get(SECONDS, "inf")), clock
        self._loss: str | None = None
        self._reports, self._since = 0, clock()

    def lasts(self, loss: float) -> bool:
        """Whether the loss has been this one for too long. NaN is the same as NaN."""
        # Numbers with a sign: -0.0 is another one than 0.0.
        text = "nan" if math.isnan(loss) else float(loss).hex()
        if text != self._loss:
            self._loss, self._reports, self._since = text, 0, self._clock()
        self._reports += 1
        return self._reports >= _LEAST_REPORTS and self._clock() - self._since >= self._seconds

    def end(self, step: int, loss: float) -> None:
        """Ends the process with the stacks of its threads, for the launcher to see why."""
        line = f"tensorplane: loss={loss:.6f} has not changed for {self._seconds:g} s; the pod ends"
        print(line, file=sys.stderr, flush=True)
        sys.stdout.flush()
        step_record.same_loss(step)
        os.abort()
