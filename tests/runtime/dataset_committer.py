"""A committer that is killed again and again: `dataset_committer.py ROOT NAME KILLS SEED`.

Each attempt is a process of its own, which kills itself at a seeded call to the file system, or commits. A commit sets
all files of NAME's folder to the next number. Prints how many attempts were killed, and the last number that a commit
returned.
"""

from __future__ import annotations

import io
import itertools
import json
import os
import random
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tensorplane.datasets import Dataset, Note
from tensorplane.datasets.retention import Rule

FILES = 4
CALLS = ("open", "link", "rename", "mkdir", "fsync", "unlink", "utime", "fchmod")
_MOST_CALLS = 160
"""A little more than a commit makes, so that some attempts succeed."""
GRACE_SECONDS = 1e6
"""Nothing is old enough: a committer that is held up keeps the files of its commit."""


def kill_at(call: int) -> None:
    """Kill this process at its so many-th call that changes files, or just after it."""
    left = itertools.count(call, -1)

    def counted(function: Callable[..., Any]) -> Callable[..., Any]:
        def instead(*args: Any, **more: Any) -> Any:
            number = next(left)
            if number == 1:
                os.kill(os.getpid(), signal.SIGKILL)
            made = function(*args, **more)
            if number == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return made

        return instead

    for name in CALLS:
        setattr(os, name, counted(getattr(os, name)))


def value(folder: Path, name: str) -> int:
    """The number in all files of a committer; 0 if there are none. Raises ValueError if they differ."""
    found = {int(path.read_text()) for path in (folder / name).glob("*")}
    if len(found) > 1 or (found and len(list((folder / name).glob("*"))) != FILES):
        raise ValueError(f"{folder}: {name} has {found}")
    return found.pop() if found else 0


def commit(root: Path, name: str, *, collect: bool) -> int:
    """Commit the next number: that number."""
    dataset = Dataset(root)
    if collect:
        dataset.collect(Rule(last=3), grace_seconds=GRACE_SECONDS)
    head = dataset.branches().get("main")
    number = (value(dataset.open(head.id), name) if head else 0) + 1
    kept = {f"{name}/{place}": dataset.keep(io.BytesIO(f"{number}".encode())) for place in range(FILES)}
    dataset.put(kept, base=head.id if head else None, note=Note(f"{name} {number}", name))
    return number


def main(root: Path, name: str, kills: int, seed: str) -> None:
    chance = random.Random(f"{seed} {name}")
    killed, acknowledged, lost = 0, 0, []
    while killed < kills:
        reader, writer = os.pipe()
        call, collect = chance.randint(1, _MOST_CALLS), chance.random() < 0.1
        if not (child := os.fork()):
            kill_at(call)
            number = commit(root, name, collect=collect)
            os.write(writer, f"{number}".encode())
            os._exit(0)
        os.close(writer)
        status = os.waitpid(child, 0)[1]
        if answer := os.read(reader, 100):
            if int(answer) <= acknowledged:
                lost.append(int(answer))
            acknowledged = int(answer)
        os.close(reader)
        if os.WIFSIGNALED(status):
            killed += 1
        elif status:
            sys.exit(f"an attempt failed: {status}")
    print(json.dumps({"killed": killed, "acknowledged": acknowledged, "lost": lost}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), sys.argv[4])
