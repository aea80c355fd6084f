"""An evicted pod of a gang loses no step: all workers save after the same step, and go on from it.

The nightly count is TENSORPLANE_KILLS, with the seed TENSORPLANE_SEED.
"""

from __future__ import annotations

import os
import random
import re
import time
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Deployed
from tests.e2e.small_jobs import WORKERS, Job, Running, deployed_jobs
from tests.support.evictions import Pods
from tests.support.waiting import eventually

ENDLESS = "1000000"
"""More steps and epochs than any machine trains in the time of the test."""
LOOP = Job("loop", "train.py", WORKERS, {"STEPS": ENDLESS}, saves=True)
FIT = Job("fit", "tensorplane_fit.py", WORKERS, {"STRATEGY": "multiWorkerMirrored", "EPOCHS": ENDLESS}, saves=True)
EVICTIONS = int(os.environ.get("TENSORPLANE_KILLS", "1"))
GRACE_SECONDS = 30
_RESUMED = re.compile(r"tensorplane: (?:resumed=(\d+)$|.*\bstep=(\d+) .*resumed=True)", re.MULTILINE)
_STEP = re.compile(r"tensorplane: step=(\d+) .*loss=")


@pytest.mark.parametrize("job", [FIT, pytest.param(LOOP, marks=pytest.mark.nightly)], ids=str)
def test_an_eviction_loses_no_step(deployed: Deployed, tmp_path: Path, job: Job) -> None:
    chance = random.Random(int(os.environ.get("TENSORPLANE_SEED", "1")))
    with deployed_jobs(deployed, tmp_path, f"evicted-{job.name}", [job]) as running:
        pods = Pods(deployed.instance.kubeconfig, running.namespace)
        chief = _training(running, job, not_by="")
        for _ in range(EVICTIONS):
            time.sleep(chance.uniform(0, 3))
            log = pods.follow(chief["metadata"]["name"])
            victim = running.pods(job.name)[f"worker-{chance.randrange(2)}"]
            assert pods.evict(victim["metadata"]["name"], grace_seconds=GRACE_SECONDS)
            said = log.whole()
            saved, stopped = (_last(word, said) for word in ("saved", "stopped"))
            assert stopped is not None, f"it says at which step it stopped\n{said[-3000:]}"
            assert saved == stopped, said[-3000:]
            # Not every step is reported; none after it is.
            assert max(map(int, _STEP.findall(said))) <= saved
            chief = _training(running, job, not_by=chief["metadata"]["name"])
            resumed = _RESUMED.search(running.log(chief))
            assert resumed, running.log(chief)
            assert int(next(filter(None, resumed.groups()))) == saved


def _last(word: str, log: str) -> int | None:
    """The step of the last line that says so."""
    found = re.findall(rf"tensorplane: {word}=(\d+)$", log, re.MULTILINE)
    return int(found[-1]) if found else None


def _training(running: Running, job: Job, *, not_by: str) -> dict[str, Any]:
    """Waits for a step of the chief's newest pod; the pod."""

    def look() -> dict[str, Any] | None:
        chief = running.pods(job.name).get("worker-0")
        if chief is None or chief["metadata"]["name"] == not_by:
            return None
        return chief if _STEP.search(running.log(chief)) else None

    found = eventually(look, about=lambda: running.logs(job.name))
    assert found
    return found
