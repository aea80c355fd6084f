"""How a job's command ended, and whether another start may end differently.

A restart helps against a lost node and against storage that fails for a while. It does not help against an example or a
line of code that fails whenever its step is reached, however often the gang starts: the third failure in a row, in the
same way at the same step, ends the job. The record is a file beside the run's checkpoints, so it outlives the pods.

It only requires the standard library, because the launcher uses it after any command.
"""

from __future__ import annotations

import contextlib
import json
import re
import signal
from dataclasses import asdict, dataclass, replace
from pathlib import Path

MOST_FAILURES = 3
"""The failure that ends the job. Two may be an accident."""
_VARIES = re.compile(r"0x[0-9a-f]+|\d+")
"""Parts of a message that differ between two runs of the same failure: addresses, process ids, ports, times."""
_STATUS = re.compile(r"(?:, )?grpc_status:\d+(?:, )?")
"""gRPC, through which errors of parameter-server workers come, prints it before or after the message."""
_TRACEBACK = b"Traceback (most recent call last):"
_LOGGED = re.compile(rb"(?:[\d-]+ [\d:.]+: )?[IWEF](?:\d{4} [\d:.]+\s+\d+)? \S+\.\w+:\d+\] ")
"""How a line of TensorFlow's own log begins."""
_NODE = re.compile(r"Error received from peer.*?\{\{node ([^}]+)\}\}")
"""The operation of such an error. The rest depends on which servers were waiting for it, and how they were told."""


@dataclass(frozen=True)
class Reason:
    """Why a command failed, of the end of its standard error."""

    line: bytes = b""
    """The last line that says so; empty if there is none."""
    error: bytes = b""
    """The line that names the exception, whose text may have several; empty without a traceback."""

    @classmethod
    def of(cls, printed: bytes) -> Reason:
        """The reason in what a command has printed.

        After a Python traceback, TensorFlow may still log what its threads find while the process ends: other lines
        each time, of which none is the reason.
        """
        lines = [line.rstrip() for line in printed.splitlines() if line.strip()]
        raised = max((at for at, line in enumerate(lines) if line == _TRACEBACK), default=len(lines))
        logged = (at for at, line in enumerate(lines) if at > raised and _LOGGED.match(line))
        said = lines[: next(logged, len(lines))]
        # Of a traceback, the frames are indented.
        error = next((line for line in said[raised + 1 :] if not line.startswith(b" ")), b"")
        return cls(said[-1].strip() if said else b"", error)


@dataclass(frozen=True)
class Failure:
    """How a command failed."""

    code: int
    last: str
    """Its reason, without what varies."""
    step: int
    """The last step that it completed."""

    @classmethod
    def of(cls, code: int, last: bytes, step: int) -> Failure:
        """The failure of a command with this exit code and this reason."""
        text = last.decode(errors="replace")
        stable = node[1] if (node := _NODE.search(text)) else _VARIES.sub("#", _STATUS.sub("", text))
        return cls(code, stable[:500], step)


class Failures:
    """The record of one pod in its run's folder."""

    def __init__(self, folder: Path, pod: str) -> None:
        self._path = folder / f"failure-{pod}.json"

    def count(self, failure: Failure) -> int:
        """Records the failure, and returns how often it has come in a row.

        1 if the folder cannot be written: without a record, restarts decide.
        """
        former = self._read()
        times = former.get("times") if former.get("failure") == asdict(failure) else 0
        times = times + 1 if isinstance(times, int) else 1
        draft = self._path.with_name(f".{self._path.name}")
        try:
            draft.write_text(json.dumps({"failure": asdict(failure), "times": times}))
            draft.replace(self._path)
        except OSError:
            return 1
        return times

    def forget(self) -> None:
        """Forgets them, because the command has succeeded."""
        with contextlib.suppress(OSError):
            self._path.unlink()

    def _read(self) -> dict[str, object]:
        try:
            found = json.loads(self._path.read_text())
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}


BEFORE_FIRST_STEP, SOON_AFTER_START = "before its first step", "within two minutes of its start"
_CRASHES = (signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGILL, signal.SIGFPE)
"""Signals with which the command's own machine code ends it."""
# Errors of peers and storage that may be temporary: restarts are for them.
_PASSES = re.compile(
    rb"unavailable|deadline|timed? ?out|connection|temporar|aborted|cancelled|input/output|stale file|no space left"
    rb"|resource exhausted|out of memory|cuda|nccl|too many open",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Outcome:
    """The end of a command."""

    code: int
    """Its exit code; of a signal, 128 and its number."""
    reason: Reason
    """Why it failed."""
    early: str
    """How early it ended, for messages; empty if it may have completed a step."""
    step: int | None = None
    """The last step of the run that it reported."""

    def is_like(self, other: Outcome) -> bool:
        """Whether both failed in the same way, before any progress."""
        return bool(self.early and other.early) and (self.code, self.reason.line) == (other.code, other.reason.line)

    @property
    def may_repeat(self) -> bool:
        """Whether a second run is useful: after an error of the code, not after a signal or a request to stop."""
        return bool(self.early) and self._is_of_the_code

    @property
    def may_be_poison(self) -> bool:
        """Whether it failed at a known step, in a way that may come back at each restart."""
        return self.step is not None and self._is_of_the_code

    @property
    def stopped(self) -> Outcome:
        """The same without its step: how a command fails while the pod is being stopped says nothing about the step."""
        return replace(self, step=None)

    @property
    def _is_of_the_code(self) -> bool:
        failed = 0 < self.code < 64 or self.code - 128 in _CRASHES
        passes = _PASSES.search(self.reason.line) or _PASSES.search(self.reason.error)
        return bool(self.reason.line) and failed and not passes
