"""Runs a job's command. What fails twice in the same way before its first step would do so in every restart.

It stands in front of the command in its container, so it needs the standard library of any Python 3 alone.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

EXIT_SAME = 78
"""Exit code of a job that restarts do not help: EX_CONFIG of sysexits.h."""
STEPS = "TENSORPLANE_STEPS"
"""Variable with the file in which the library notes how far it is (`runtime/first_step.py`)."""
_UNKNOWN_SECONDS = 120
"""Code without the library tells nothing of its steps: what fails this soon has not come to one."""
_PAUSE_SECONDS = 5
_TAIL_BYTES = 8192
# What may pass by itself, of peers and of storage: restarts are for that.
_PASSES = re.compile(
    rb"unavailable|deadline|timed? ?out|connection|temporar|aborted|cancelled|input/output|stale file|no space left"
    rb"|resource exhausted|out of memory|cuda|nccl|too many open",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class _Ended:
    code: int
    last: bytes
    early: bool

    def is_like(self, other: _Ended) -> bool:
        """Whether both failed in the same way, with nothing between them that could change."""
        return self.early and other.early and (self.code, self.last) == (other.code, other.last)

    @property
    def may_repeat(self) -> bool:
        """Whether it is worth knowing if it fails again: an error of the code, not a signal or a wish to stop."""
        return self.early and 0 < self.code < 64 and bool(self.last) and not _PASSES.search(self.last)


class _Launcher:
    """The command's process, and the signals that are meant for it."""

    def __init__(self, command: Sequence[str]) -> None:
        self._command = command
        self._child: subprocess.Popen[bytes] | None = None
        self.stopped = False
        for name in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2):
            signal.signal(name, self._pass_on)

    def _pass_on(self, number: int, _: object) -> None:
        self.stopped = self.stopped or number in (signal.SIGTERM, signal.SIGINT)
        if self._child:
            self._child.send_signal(number)

    def run(self, steps: Path) -> _Ended:
        steps.unlink(missing_ok=True)
        began = time.monotonic()
        self._child = subprocess.Popen(
            self._command, stderr=subprocess.PIPE, env={**os.environ, STEPS: str(steps)}, bufsize=0
        )
        if self.stopped:
            self._child.terminate()
        tail = bytearray()
        relay = threading.Thread(target=_relay, args=(self._child.stderr, tail), daemon=True)
        relay.start()
        code = self._child.wait()
        # A process that outlives the command may hold its standard error open.
        relay.join(2)
        lines = [line.strip() for line in bytes(tail).splitlines() if line.strip()]
        said = steps.read_text() if steps.exists() else ""
        early = said == "expected" or (not said and time.monotonic() - began < _UNKNOWN_SECONDS)
        return _Ended(code if code >= 0 else 128 - code, lines[-1] if lines else b"", early)


def _relay(stream: IO[bytes], tail: bytearray) -> None:
    while chunk := stream.read(65536):
        sys.stderr.buffer.write(chunk)
        sys.stderr.buffer.flush()
        tail += chunk
        del tail[:-_TAIL_BYTES]


def main(command: Sequence[str], steps: Path) -> int:
    """The exit code of the command; EXIT_SAME where it failed twice in the same way before its first step."""
    launcher = _Launcher(command)
    first = launcher.run(steps)
    if not first.may_repeat or launcher.stopped:
        return first.code
    print(
        f"tensorplane: exit code {first.code} before the first step; once more, to see if it ends the same way",
        file=sys.stderr,
        flush=True,
    )
    time.sleep(_PAUSE_SECONDS)
    if launcher.stopped:
        return first.code
    second = launcher.run(steps)
    return EXIT_SAME if second.is_like(first) and not launcher.stopped else second.code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], Path("/tmp/.tensorplane-steps")))  # noqa: S108
