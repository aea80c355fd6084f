"""Runs train.py, and holds it after a line, once a run: however fast it is, it has not ended when a test acts.

HOLD_AFTER: a part of that line, such as `saved=200 `; while it is held there, nothing later is saved. A file `RUN.go`
beside the run's checkpoints lets it go on; a pod that takes its place is not held.
"""

from __future__ import annotations

import builtins
import os
import pathlib
import runpy
import time

say = builtins.print
# CHECKPOINT_DIR is the folder of this pod alone.
run = pathlib.Path(os.environ["TENSORPLANE_RUN"])
held, go = run.with_name(f"{run.name}.held"), run.with_name(f"{run.name}.go")


def say_and_hold(*words: object, **how: object) -> None:
    """`print`."""
    say(*words, **how)  # type: ignore[call-overload]
    if os.environ["HOLD_AFTER"] in f"{' '.join(map(str, words))} " and not held.exists():
        held.touch()
        while not go.exists():
            time.sleep(0.05)


builtins.print = say_and_hold
runpy.run_path("train.py", run_name="__main__")
