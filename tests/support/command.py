"""`tensorplane` as a person starts it: through its launcher, in a folder of their own."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from tensorplane.toolchain import launchers
from tests.support.waiting import PATIENT_SECONDS


def argv(*words: str) -> list[str]:
    """What starts it."""
    return launchers.argv("tensorplane.cli", *words)


def output(
    folder: Path, *words: str, code: int = 0, environment: Mapping[str, str] = os.environ, start: Sequence[str] = ()
) -> str:
    """What it prints. It must end with this exit code. `start`: what starts it, by default this checkout's launcher."""
    done = subprocess.run(
        [*start, *words] if start else argv(*words),
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=PATIENT_SECONDS,
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr
