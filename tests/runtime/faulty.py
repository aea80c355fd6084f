"""Runs `train.py` in this folder and ends it as FAULT says: at a step, inside a save, or after a time.

FAULT is `step:120` (its line has just been printed, or a later one's), `save:3:5` (before the fifth call to the file
system of the third save, or at its end if it has fewer), `write:2` (when the second save has written its files, none of
them in place) or `time:0.8` (seconds after the first step). The end is a SIGKILL, which the process cannot answer.
"""

from __future__ import annotations

import builtins
import os
import re
import runpy
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

_CALLS = ("mkdir", "unlink", "rename", "replace")


def _end() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _in_lines(act: Callable[[str], None]) -> None:
    say = builtins.print

    def said(*words: Any, **options: Any) -> None:
        say(*words, **options)
        act(f"{' '.join(map(str, words))} ")

    builtins.print = said


def _at_step(step: str) -> None:
    def act(line: str) -> None:
        if (found := re.search(r" step=(\d+) loss=", line)) and int(found[1]) >= int(step):
            _end()

    _in_lines(act)


def _after(seconds: str) -> None:
    timer = threading.Timer(float(seconds), _end)  # the end of a program that is faster waits for it
    _in_lines(lambda line: timer.start() if "loss=" in line and not timer.ident else None)


def _in_save(save: str, call: str) -> None:
    from tensorplane.checkpoints.files import CheckpointFiles

    put, saves, calls, inside = CheckpointFiles.put, 0, 0, threading.local()

    def counted_put(files: CheckpointFiles, *options: Any) -> None:
        nonlocal saves, calls
        saves, calls = saves + 1, 0
        inside.now = saves == int(save)
        put(files, *options)
        if inside.now:
            _end()

    def counted(real: Callable[..., Any]) -> Callable[..., Any]:
        def end_or_call(*options: Any, **named: Any) -> Any:
            nonlocal calls
            if getattr(inside, "now", False):
                calls += 1
                if calls == int(call):
                    _end()
            return real(*options, **named)

        return end_or_call

    CheckpointFiles.put = counted_put  # type: ignore[assignment, method-assign]
    for name in _CALLS:
        setattr(Path, name, counted(getattr(Path, name)))
    os.fsync = counted(os.fsync)


def _in_write(save: str) -> None:
    from tensorplane.checkpoints.host_copy import HostCopy

    write, writes = HostCopy.write, 0

    def end_after_write(copied: HostCopy, prefix: Path) -> None:
        nonlocal writes
        write(copied, prefix)
        writes += 1
        if writes == int(save):
            _end()

    HostCopy.write = end_after_write  # type: ignore[assignment, method-assign]


if __name__ == "__main__":
    kind, *numbers = os.environ["FAULT"].split(":")
    faults: dict[str, Callable[..., None]] = {"step": _at_step, "save": _in_save, "write": _in_write, "time": _after}
    faults[kind](*numbers)
    runpy.run_path("train.py", run_name="__main__")
