"""Runs a job's command. What fails twice in the same way soon after its start would do so in every restart.

Before the command it asks whether TensorFlow sees the pod's GPUs: without them it computes on CPUs and says nothing.
The pod that writes the run's checkpoints becomes its only writer first; a run that has finished is not run again.

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

# It is started by its path and isolated from the command's own modules, so that it finds its package itself, before
# one that the image has installed. A ConfigMap's files are links into another folder, hence no `resolve`.
_LIBRARY = str(Path(__file__).absolute().parents[1])
sys.path.insert(0, _LIBRARY)

from tensorplane import __version__  # noqa: E402
from tensorplane.publish import is_superseded  # noqa: E402
from tensorplane.run_folder import RunFolder, TakenOver  # noqa: E402

EXIT_SAME = 78
"""Exit code of a job that restarts do not help: EX_CONFIG of sysexits.h."""
GPUS = "TENSORPLANE_GPUS"
"""Variable with the number of GPUs that the pod asked for; absent where it asked for none (`gpus.py`)."""
EXIT_FEWER = 3
"""Exit code of `gpus.py` where TensorFlow sees fewer."""
EXIT_SAVED = 75
"""Exit code of a pod that was asked to stop and can go on as before (`stop.py`)."""
RUN = "TENSORPLANE_RUN"
"""Variable with the folder of the run's checkpoints; absent in jobs without `checkpoints` (`run_folder.py`)."""
WRITES = "TENSORPLANE_WRITES"
"""Variable that is set in the role whose first pod writes the checkpoints."""
INDEX = "JOB_COMPLETION_INDEX"
"""Variable with the pod's index in its role, set by Kubernetes."""
STEPS = "TENSORPLANE_STEPS"
"""Variable with the file in which the library notes how far it is (`first_step.py`)."""
_UNKNOWN_SECONDS = 120
"""Code without the library tells nothing of its steps: what fails this soon is taken for an error of its own."""
_BEFORE, _SOON = "before its first step", "within two minutes of its start"
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
    early: str
    """How soon it ended, in words; empty where it may have done a step."""

    def is_like(self, other: _Ended) -> bool:
        """Whether both failed in the same way, with nothing between them that could change."""
        return bool(self.early and other.early) and (self.code, self.last) == (other.code, other.last)

    @property
    def may_repeat(self) -> bool:
        """Whether it is worth knowing if it fails again: an error of the code, not a signal or a wish to stop."""
        return bool(self.early and self.last) and 0 < self.code < 64 and not _PASSES.search(self.last)


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
        """Run the command, unless TensorFlow sees too few GPUs for it or the pod was asked to stop before."""
        return self._without_gpus() or self._run(steps)

    def _without_gpus(self) -> _Ended | None:
        """How the pod ends where TensorFlow sees fewer GPUs than it asked for; None where it sees them."""
        if GPUS not in os.environ:
            return None
        path = os.pathsep.join(filter(None, (_LIBRARY, os.environ.get("PYTHONPATH"))))
        self._child = subprocess.Popen(
            [self._command[0], "-m", "tensorplane.gpus"],
            # Not among the job's files, which may be called like a module of the standard library.
            cwd="/",
            env={**os.environ, "PYTHONPATH": path},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        said, told = self._child.communicate()
        if self.stopped:
            return _Ended(EXIT_SAVED, b"", early=_BEFORE)
        if self._child.returncode != EXIT_FEWER:
            return None
        # TensorFlow says which libraries it lacks.
        sys.stderr.buffer.write(told[-_TAIL_BYTES:] + said)
        sys.stderr.buffer.flush()
        return _Ended(EXIT_FEWER, said.strip(), early=_BEFORE)

    def _run(self, steps: Path) -> _Ended:
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
        early = _BEFORE if said == "expected" else ""
        if not said and time.monotonic() - began < _UNKNOWN_SECONDS:
            early = _SOON
        return _Ended(code if code >= 0 else 128 - code, lines[-1] if lines else b"", early)


def _relay(stream: IO[bytes], tail: bytearray) -> None:
    while chunk := stream.read(65536):
        sys.stderr.buffer.write(chunk)
        sys.stderr.buffer.flush()
        tail += chunk
        del tail[:-_TAIL_BYTES]


def main(command: Sequence[str], steps: Path) -> int:
    """The exit code of the run: 0 at once if it has finished before, the command's otherwise."""
    run = RunFolder(Path(os.environ[RUN])) if RUN in os.environ else None
    if run is None:
        return _launched(command, steps)
    if run.finished and not _is_back():
        print(f"tensorplane: run {Path(os.environ[RUN]).name} has finished; nothing to do", flush=True)
        return 0
    if WRITES not in os.environ or os.environ.get(INDEX, "0") != "0":
        return _launched(command, steps)
    try:
        folder = run.take_over(__version__)
        os.environ["CHECKPOINT_DIR"] = str(folder)
        code = _launched(command, steps)
        if code == 0:
            run.finish(folder)
    except TakenOver as reason:
        print(f"tensorplane: {reason}", file=sys.stderr, flush=True)
        return EXIT_SAVED
    return code


def _is_back() -> bool:
    """Whether the settings have returned to this run after another, so that its model has to be the newest again."""
    model = os.environ.get("MODEL_DIR")
    return model is not None and is_superseded(Path(model), run=Path(os.environ[RUN]).name)


def _launched(command: Sequence[str], steps: Path) -> int:
    """The exit code of the command; EXIT_SAME where it failed twice in the same way soon after its start."""
    launcher = _Launcher(command)
    first = launcher.run(steps)
    if not first.may_repeat or launcher.stopped:
        return first.code
    print(
        f"tensorplane: exit code {first.code} {first.early}; once more, to see if it ends the same way",
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
