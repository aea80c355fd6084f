"""An evicted pod of a gang loses no step: all workers save after the same step, and go on from it.

The seed decides which pod is evicted, and after what the chief has said.
"""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

from tests.e2e import small_jobs, stacks
from tests.e2e.conftest import Deployed
from tests.e2e.small_jobs import ENDLESS, WORKERS, Job, Running
from tests.support import counts
from tests.support.evictions import Pods
from tests.support.waiting import PATIENT_SECONDS

pytestmark = [
    pytest.mark.counted,
    pytest.mark.nightly("4 TensorFlow pods for an eviction; told by paths/test_killed_worker.py"),
]

LOOP = Job("loop", "train.py", WORKERS, {"STEPS": ENDLESS}, saves=True)
FIT = Job("fit", "tensorplane_fit.py", WORKERS, {"STRATEGY": "multiWorkerMirrored", "EPOCHS": ENDLESS}, saves=True)
EVICTIONS = counts.of(quick=1, nightly=40)
_GRACE_SECONDS = int(PATIENT_SECONDS)
"""A pod that has saved ends before."""
_RESUMED = re.compile(r"tensorplane: (?:resumed=(\d+)$|.*\bstep=(\d+) .*resumed=True)", re.MULTILINE)
_SAID = r"tensorplane: step=(\d+) .*loss="
_SAVED = r"tensorplane: saved=\d+$"
_MOMENTS = (_SAID, _SAVED, rf"{_SAVED}(?s:.*){_SAID}")
"""Before a save, after one, and between two."""


@pytest.mark.parametrize("job", [FIT, LOOP], ids=str)
def test_an_eviction_loses_no_step(deployed: Deployed, tmp_path: Path, job: Job) -> None:
    chance = random.Random(counts.seed())
    sections = small_jobs.sections([job])
    sections["workloads"][job.name]["graceSeconds"] = _GRACE_SECONDS
    with stacks.own(deployed, tmp_path, f"evicted-{job.name}") as made:
        made.up(**sections)
        running = Running(deployed.kube, made.stack)
        pods = Pods(deployed.instance.kubeconfig, running.namespace)
        former = ""
        for _ in range(EVICTIONS):
            running.said(job.name, chance.choice(_MOMENTS), not_by=former)
            task = running.pods(job.name)
            log = pods.follow(task["worker-0"]["metadata"]["name"])
            victim = task[f"worker-{chance.randrange(2)}"]
            assert pods.evict(victim["metadata"]["name"], grace_seconds=_GRACE_SECONDS)
            said = log.whole()
            saved, stopped = (_last(word, said) for word in ("saved", "stopped"))
            assert stopped is not None, f"it says at which step it stopped\n{said[-3000:]}"
            assert saved == stopped, said[-3000:]
            # Not every step is reported; none after it is.
            assert max(map(int, re.findall(_SAID, said)), default=0) <= saved
            former = task["worker-0"]["metadata"]["uid"]
            resumed = running.said(job.name, _RESUMED.pattern, not_by=former)
            assert int(next(filter(None, resumed.groups()))) == saved


def _last(word: str, log: str) -> int | None:
    """The step of the last line that says so."""
    found = re.findall(rf"tensorplane: {word}=(\d+)$", log, re.MULTILINE)
    return int(found[-1]) if found else None
