"""A worker that dies takes its gang with it, which goes on from its checkpoint and ends as if nothing had happened."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import sklearn.datasets
import yaml

from tensorplane.core.paths import PROJECT
from tensorplane.core.step import Step
from tensorplane.driver import watch
from tests.e2e.paths.conftest import TEAM
from tests.e2e.stacks import OwnStack, volume_folder
from tests.support.person import Person

_FILES = (
    PROJECT / "tests/e2e/programs/held.py",
    PROJECT / "examples/digits/train.py",
    PROJECT / "examples/digits/data.py",
    Path(sklearn.datasets.__file__).parent / "data" / "digits.csv.gz",
)
_JOB = {
    "strategy": {"kind": "multiWorkerMirrored", "workers": 2},
    "command": ["python3", "held.py"],
    # As the dev stack's job, which nobody disturbs.
    "env": {"STEPS": 600, "HOLD_AFTER": "saved=200 "},
    "volumes": {"models": "/models"},
    "checkpoints": {"volume": "models", "everySteps": 200},
    "resources": {"cpus": 0.3, "memoryGib": 1.25},
    "queue": "research",
    # The chief, which is held, does not end when it is asked to.
    "graceSeconds": 1,
}


def test_a_killed_worker_restarts_the_gang_at_exactly_the_saved_step(member: Person, paths: OwnStack) -> None:
    for file in _FILES:
        shutil.copy(file, member.folder)
    (member.folder / f"{member.name}.yaml").write_text(yaml.safe_dump(_JOB))
    pods = f"/api/v1/namespaces/{TEAM}/pods"
    with member.started("run", "-f", f"{member.name}.yaml") as follower:
        follower.until("tensorplane: saved=200$")
        [run] = member.jobs()
        of_worker = f"jobset.sigs.k8s.io/jobset-name={run},batch.kubernetes.io/job-completion-index=1"
        [victim] = paths.kube.items(pods, labelSelector=of_worker)
        # No grace: what a node that dies does to its pods.
        paths.kube.delete(f"{pods}/{victim['metadata']['name']}", gracePeriodSeconds="0")
        assert follower.ended().rstrip().endswith(f"{run}: finished; model version 1 in /models/vision/{member.name}")
    log = member("logs", run, "--index", "0")
    assert re.findall(r"step=(\d+) steps=600 resumed=(\w+)", log) == [("200", "True")]
    assert member.jobs()[run]["restarts"] == 1
    assert _content(paths.volume() / TEAM / member.name) == _undisturbed(paths)


def _undisturbed(paths: OwnStack) -> dict[str, str]:
    """What the dev stack's job has published."""
    dev = paths.deployed
    watch.wait_for_training(dev.kube, dev.outputs, Step("training"))
    return _content(volume_folder(dev, dev.outputs.namespace, "models") / "digits")


def _content(model: Path) -> dict[str, str]:
    """Digests of all variables and signatures of its first version."""
    found: dict[str, str] = json.loads((model / "1" / "assets.extra" / "content.json").read_text())
    assert len(found) > 5, found
    return found
