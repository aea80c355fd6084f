"""Runs train.py, and holds its chief at a moment, once a run: however fast it is, it is there when a test acts.

HOLD_AT has the moment, and the step from which on it may be:
- `start 0`: before TensorFlow is imported,
- `step 300`: after a line about that step or a later one,
- `save 300`: the data of a checkpoint are in their place, its index is not,
- `publish 0`: the model is written, and has no number yet.

A file RUN.held beside the run's checkpoints appears then, and a file RUN.go lets it go on. A pod that takes its place
is not held.
"""

from __future__ import annotations

import builtins
import os
import pathlib
import re
import runpy
import time

say, rename = builtins.print, pathlib.Path.rename
moment, _, least = os.environ.get("HOLD_AT", "never 0").partition(" ")
run = pathlib.Path(os.environ["TENSORPLANE_RUN"])
held, go = run.with_name(f"{run.name}.held"), run.with_name(f"{run.name}.go")


def hold(now: str, step: int = 0) -> None:
    # CHECKPOINT_DIR is the run's folder, unless this pod writes it.
    if now == moment and step >= int(least) and os.environ["CHECKPOINT_DIR"] != str(run) and not held.exists():
        held.touch()
        while not go.exists():
            time.sleep(0.05)


def say_and_hold(*words: object, **how: object) -> None:
    """`print`."""
    say(*words, **how)  # type: ignore[call-overload]
    if found := re.match(r"tensorplane: step=(\d+) loss=", " ".join(map(str, words))):
        hold("step", int(found[1]))


def hold_and_rename(path: pathlib.Path, target: pathlib.Path) -> pathlib.Path:
    """`Path.rename`."""
    if found := re.fullmatch(r"ckpt-(\d+)\.index", path.name):
        hold("save", int(found[1]))
    if path.name == "version":
        hold("publish")
    return rename(path, target)


hold("start")
builtins.print = say_and_hold
pathlib.Path.rename = hold_and_rename  # type: ignore[method-assign, assignment]
runpy.run_path("train.py", run_name="__main__")
