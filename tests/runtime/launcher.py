"""The launcher that stands in front of a job's command, without its pauses, and patient with a slow machine."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tensorplane import launch
from tensorplane.checkpoints.run_folder import RUN
from tests.runtime.launching import LIBRARY
from tests.support.environment import of_machine
from tests.support.waiting import PATIENT_SECONDS

WRITES = {launch.WRITES: "true"}
"""What the role has whose first pod writes the checkpoints."""


def argv(
    folder: Path, *command: str, unknown_seconds: float = 10**9, answer_seconds: float = PATIENT_SECONDS
) -> list[str]:
    """The launcher on a command. `unknown_seconds`: how long a program without the library counts as starting.

    `answer_seconds`: how long one that makes no progress may print its stacks.
    """
    limits = {
        "_PAUSE_SECONDS": 0,
        "_RELAY_SECONDS": PATIENT_SECONDS,
        "_UNKNOWN_SECONDS": unknown_seconds,
        "_ANSWER_SECONDS": answer_seconds,
    }
    code = (
        f"import sys; sys.path.insert(0, {str(LIBRARY)!r}); from pathlib import Path; from tensorplane import launch;"
        f"vars(launch).update({limits!r}); sys.exit(launch.main(sys.argv[1:], Path({str(folder / 'steps')!r})))"
    )
    return [sys.executable, "-c", code, *command]


def by_path(*command: str) -> list[str]:
    """The launcher as a pod starts it."""
    return [sys.executable, "-I", str(LIBRARY / "tensorplane" / "launch.py"), *command]


def run(arguments: list[str], **environment: str) -> subprocess.CompletedProcess[str]:
    """A program that ends."""
    own = {**of_machine(), **environment}
    return subprocess.run(arguments, capture_output=True, text=True, timeout=PATIENT_SECONDS, env=own)


@contextmanager
def started(arguments: list[str], **environment: str) -> Iterator[subprocess.Popen[str]]:
    """A program that the test ends, or its failure."""
    pipe, own = subprocess.PIPE, {**of_machine(), **environment}
    with subprocess.Popen(arguments, stdout=pipe, stderr=pipe, text=True, env=own) as process:
        try:
            yield process
        finally:
            process.kill()


def launched(folder: Path, program: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """The launcher on a Python program, as `train.py` in a folder."""
    (folder / "train.py").write_text(program)
    return run(argv(folder, sys.executable, str(folder / "train.py")), **environment)


def of_run(folder: Path, program: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """The same for a pod of the run `digits-1`."""
    return launched(folder, program, **{RUN: str(folder / "digits-1"), **environment})
