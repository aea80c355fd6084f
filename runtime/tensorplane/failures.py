"""How often a pod's command has failed in the same way at the same step: the third time in a row ends the job.

A restart helps against a lost node and against storage that fails for a while. It does not help against an example or a
line of code that fails whenever its step is reached, however often the gang starts. The record is a file beside the
run's checkpoints, so it outlives the pods.

It only requires the standard library, because the launcher uses it after any command.
"""

from __future__ import annotations

import contextlib
import json
import re
from dataclasses import asdict, dataclass
from pathlib import Path

MOST = 3
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
        """Record the failure, and return how often it has come in a row.

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
        """Forget them, because the command has succeeded."""
        with contextlib.suppress(OSError):
            self._path.unlink()

    def _read(self) -> dict[str, object]:
        try:
            found = json.loads(self._path.read_text())
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}
