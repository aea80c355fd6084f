"""Steps of a stage that are killed at any call to the file system: each result is made exactly once.

The seed decides at which.
"""

from __future__ import annotations

import functools
import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tensorplane.stages import plan
from tensorplane.stages.commit import commit
from tensorplane.stages.description import Stage
from tests.runtime import dataset_committer
from tests.runtime.stage_volume import Volume
from tests.support import counts
from tests.support.rendering import PROJECT

_KILLS = counts.of(quick=20, nightly=300)


@pytest.mark.counted
@pytest.mark.nightly("kills; test_dataset_kills.py has some of a commit, and test_stages.py what is tried again")
def test_steps_that_are_killed_at_any_call_make_each_result_exactly_once(tmp_path: Path) -> None:
    # In a process without TensorFlow, which may have threads here that a fork would not have.
    argv = [sys.executable, "-m", "tests.runtime.test_stage_kills", str(tmp_path)]
    subprocess.run(argv, check=True, cwd=PROJECT, env={**os.environ, "PYTHONPATH": str(PROJECT / "runtime")})


def main(volume: Volume) -> None:
    """Each step is a process that kills itself at a seeded call to the file system, and is tried again."""
    chance = random.Random(f"stages {counts.seed()}")
    killed = number = 0
    while killed < _KILLS:
        texts = {f"t{place}": f"text {number if place == number % 4 else place}" for place in range(4)}
        before = len(list(volume.made.log())) if volume.made.branches() else 0
        killed += _killed_run(volume, chance, f"words-{number}", volume.put(**texts))
        number += 1
        assert volume.files() == {f"{name}.txt": text.upper() for name, text in texts.items()}
        assert len(list(volume.made.log())) == before + 1, "one commit for each run"
    assert not list(volume.made.damaged())


def _killed_run(volume: Volume, chance: random.Random, run: str, version: str) -> int:
    """One run: how often its steps were killed."""
    stage = volume.stage()
    todo, killed = _until_done(chance, lambda: json.dumps(plan.plan(stage, run, {"texts": version})))
    for item in json.loads(todo):
        killed += _until_done(chance, functools.partial(_pod, volume, stage, run, item))[1]
    killed += _until_done(chance, lambda: commit(stage, run).commit.id)[1]
    return killed + _until_done(chance, functools.partial(_finish, stage, run))[1]


def _finish(stage: Stage, run: str) -> str:
    plan.finish(stage, run)
    return ""


def _pod(volume: Volume, stage: Stage, run: str, item: Mapping[str, str]) -> str:
    volume.pod(stage, run, item)
    return ""


def _until_done(chance: random.Random, step: Callable[[], str]) -> tuple[str, int]:
    """What a step returned in the attempt that was not killed, and how many were."""
    for killed in range(10**6):
        reader, writer = os.pipe()
        call = chance.randint(1, 150 if killed < 3 else 10**6)
        if not (child := os.fork()):
            dataset_committer.kill_at(call)
            os.write(writer, step().encode())
            os._exit(0)
        os.close(writer)
        answer = os.read(reader, 1 << 16).decode()
        status = os.waitpid(child, 0)[1]
        os.close(reader)
        if not os.WIFSIGNALED(status):
            assert status == 0, "an attempt failed"
            return answer, killed
        assert os.WTERMSIG(status) == signal.SIGKILL
    raise AssertionError


if __name__ == "__main__":
    main(Volume(Path(sys.argv[1])))
