"""`tensorplane run` and `cancel`, killed at random points: no job is submitted twice, and none leaves an object behind.

Each round is decided by the seed: TENSORPLANE_SEED, TENSORPLANE_KILLS.
"""

from __future__ import annotations

import os
import random
import subprocess
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Deployed
from tests.e2e.test_run_command import Person
from tests.support import command
from tests.support.waiting import eventually

_SEED = int(os.environ.get("TENSORPLANE_SEED", "1"))
_KILLS = int(os.environ.get("TENSORPLANE_KILLS", "6"))
_JOBS = ("first", "second")
_LONGEST_SECONDS = 2.0
"""The whole command takes about 1.5 s."""
_INSIDE = "namespaces/tensorplane-dev"
_JOB_SETS = f"/apis/jobset.x-k8s.io/v1alpha2/{_INSIDE}/jobsets"
_OWNED = {
    f"/api/v1/{_INSIDE}/configmaps": 2,
    f"/api/v1/{_INSIDE}/serviceaccounts": 1,
    f"/apis/networking.k8s.io/v1/{_INSIDE}/networkpolicies": 1,
}
"""How many of each a job owns; its ConfigMaps are its files and the library."""


@pytest.fixture
def person(deployed: Deployed, tmp_path: Path) -> Iterator[Person]:
    for job in _JOBS:
        (tmp_path / f"{job}.py").write_text(f"import time; print({job!r}, flush=True); time.sleep(3600)")
    yield Person(tmp_path)
    for job in _JOBS:
        for one in _of(deployed, job, _JOB_SETS):
            deployed.kube.delete(f"{_JOB_SETS}/{one['metadata']['name']}")


def _of(deployed: Deployed, job: str, path: str) -> list[dict[str, Any]]:
    return deployed.kube.items(path, labelSelector=f"app.kubernetes.io/name={job}")


def _alive(deployed: Deployed, job: str) -> set[str]:
    """UIDs of its JobSets that nobody has deleted."""
    there = [one["metadata"] for one in _of(deployed, job, _JOB_SETS)]
    return {about["uid"] for about in there if not about.get("deletionTimestamp")}


def _words(word: str, job: str) -> tuple[str, ...]:
    if word == "cancel":
        return ("cancel", job)
    small = ("--queue", "training", "--cpus", "0.05", "--memory-gib", "0.1")
    return ("run", *small, "--name", job, "--detach", "--", "python", f"{job}.py")


def killed(folder: Path, seconds: float, *words: str) -> None:
    """Runs a command and kills it, unless it has ended by then."""
    process = subprocess.Popen(command.argv(*words), cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT)
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _runs(person: Person, run: str) -> bool:
    return bool(person.jobs()[run]["state"] == "running")


def _is_gone(deployed: Deployed, job: str, path: str) -> bool:
    return not _of(deployed, job, path)


def _has_printed(person: Person, run: str, text: str) -> bool:
    """A container runs before its program has printed anything."""
    return person("logs", run) == text


def test_killed_commands_submit_once_and_leave_nothing(person: Person, deployed: Deployed) -> None:
    chance = random.Random(_SEED)
    for number in range(_KILLS):
        job, word = chance.choice(_JOBS), chance.choice(("run", "run", "cancel"))
        before = _alive(deployed, job)
        killed(person.folder, chance.uniform(0.3, _LONGEST_SECONDS), *_words(word, job))
        after = _alive(deployed, job)
        told = f"seed {_SEED}, round {number}: {word} {job}: {before} became {after}"
        assert len(after) <= 1, told
        if word == "run" and before:
            assert after == before, told
    for job in _JOBS:
        told = person(*_words("run", job))
        run = told.partition(":")[0]
        eventually(partial(_runs, person, run))
        assert len(_of(deployed, job, _JOB_SETS)) == 1
        for path, count in _OWNED.items():
            assert len(_of(deployed, job, path)) == count, path
        eventually(partial(_has_printed, person, run, f"{job}\n"))
        person("cancel", run)
    for job in _JOBS:
        for path in (_JOB_SETS, *_OWNED, f"/api/v1/{_INSIDE}/pods"):
            eventually(partial(_is_gone, deployed, job, path))
