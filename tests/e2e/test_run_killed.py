"""`tensorplane run` and `cancel`, killed at random points: no job is submitted twice, and none leaves an object behind.

Each round is decided by the seed.
"""

from __future__ import annotations

import random
import subprocess
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Deployed
from tests.support import command, counts, killed
from tests.support.person import Person
from tests.support.waiting import eventually

pytestmark = [pytest.mark.counted, pytest.mark.nightly("random kills; a unit test kills after each request")]

_SEED = counts.seed()
_KILLS = counts.of(quick=6, nightly=40)
_JOBS = ("first", "second")
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


def _runs(deployed: Deployed, job: str) -> bool:
    pods = _of(deployed, job, f"/api/v1/{_INSIDE}/pods")
    return [pod["status"]["phase"] for pod in pods if "deletionTimestamp" not in pod["metadata"]] == ["Running"]


def _is_gone(deployed: Deployed, job: str, path: str) -> bool:
    return not _of(deployed, job, path)


def _has_printed(person: Person, run: str, text: str) -> bool:
    """A container runs before its program has printed anything."""
    return person("logs", run) == text


def test_killed_commands_submit_once_and_leave_nothing(person: Person, deployed: Deployed) -> None:
    chance, cancelled = random.Random(_SEED), set[str]()
    began = time.monotonic()
    person(*_words("run", _JOBS[0]))
    # However fast the machine is, most rounds end in the middle of their command.
    whole = time.monotonic() - began
    for number in range(_KILLS):
        job, word = chance.choice(_JOBS), chance.choice(("run", "run", "cancel"))
        before = _alive(deployed, job)
        process = subprocess.Popen(command.argv(*_words(word, job)), cwd=person.folder, stdout=subprocess.DEVNULL)
        killed.after(chance.uniform(0.2, 1.2) * whole, process)
        after = _alive(deployed, job)
        told = f"seed {_SEED}, round {number}: {word} {job}: {before} became {after}"
        assert len(after) <= 1, told
        # What a killed `cancel` has asked for may be done after it.
        if word == "run" and before and job not in cancelled:
            assert after == before, told
        (cancelled.add if word == "cancel" else cancelled.discard)(job)
    for job in _JOBS:
        told = person(*_words("run", job))
        run = told.partition(":")[0]
        eventually(partial(_runs, deployed, job))
        assert len(_of(deployed, job, _JOB_SETS)) == 1
        for path, count in _OWNED.items():
            assert len(_of(deployed, job, path)) == count, path
        eventually(partial(_has_printed, person, run, f"{job}\n"))
        person("cancel", run)
    for job in _JOBS:
        for path in (_JOB_SETS, *_OWNED, f"/api/v1/{_INSIDE}/pods"):
            eventually(partial(_is_gone, deployed, job, path))
