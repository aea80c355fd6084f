"""`tensorplane sweep -f` in a stack's namespace: stopped and continued, killed while it submits, run to its end."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.e2e.conftest import Deployed
from tests.e2e.test_run_command import Person
from tests.e2e.test_run_killed import killed
from tests.support.waiting import eventually

_INSIDE = "namespaces/tensorplane-dev"
_JOB_SETS = f"/apis/jobset.x-k8s.io/v1alpha2/{_INSIDE}/jobsets"
_OTHERS = (
    f"/api/v1/{_INSIDE}/configmaps",
    f"/api/v1/{_INSIDE}/serviceaccounts",
    f"/apis/rbac.authorization.k8s.io/v1/{_INSIDE}/roles",
    f"/apis/rbac.authorization.k8s.io/v1/{_INSIDE}/rolebindings",
    f"/apis/networking.k8s.io/v1/{_INSIDE}/networkpolicies",
)
_WAITS = "import os, time; print('tensorplane: step=1 loss=0.5', flush=True); time.sleep(float(os.environ['SECONDS']))"
_NAME = "waits"


@pytest.fixture
def person(deployed: Deployed, tmp_path: Path) -> Iterator[Person]:
    yield Person(tmp_path)
    for one in deployed.kube.items(_JOB_SETS, labelSelector=f"app.kubernetes.io/name={_NAME}"):
        deployed.kube.delete(f"{_JOB_SETS}/{one['metadata']['name']}")


def _write(folder: Path, seconds: int) -> None:
    trial = {
        "command": ["python3", "-c", _WAITS],
        "resources": {"cpus": 0.05, "memoryGib": 0.1},
        "volumes": {"models": "/models"},
        "queue": "training",
        "env": {"SECONDS": str(seconds)},
    }
    search = {"parameters": {"RATE": {"low": 0.1, "high": 1}}, "trials": 2, "parallel": 2}
    (folder / f"{_NAME}.yaml").write_text(yaml.safe_dump({"search": search, "trial": trial}))


def _run(told: str) -> str:
    found: str = re.findall(rf"^({_NAME}-[0-9a-f]+): ", told, re.MULTILINE)[0]
    return found


def _named(deployed: Deployed, path: str) -> set[str]:
    found = deployed.kube.items(path, labelSelector=f"app.kubernetes.io/name={_NAME}")
    return {one["metadata"]["name"] for one in found}


def test_a_cancelled_sweep_leaves_nothing_and_the_same_command_continues_it(person: Person, deployed: Deployed) -> None:
    _write(person.folder, 999)
    submit = ("sweep", "-f", f"{_NAME}.yaml", "--detach")
    killed(person.folder, 1.5, *submit)
    run = _run(person(*submit))
    trials = {f"{run}-t0000", f"{run}-t0001"}
    eventually(lambda: trials <= _named(deployed, _JOB_SETS))
    assert person("cancel", _NAME).startswith(f"{run}: cancelled, and its trials with it")
    assert f"{run}: submitted to tensorplane-dev: 2 trials, 2 at once" in person(*submit)
    eventually(lambda: trials <= _named(deployed, _JOB_SETS))
    assert [row["state"] for row in json.loads(person("sweep", _NAME, "--json"))["trials"]] == ["open", "open"]
    person("cancel", run)
    for path in (_JOB_SETS, *_OTHERS):
        eventually(lambda path=path: not _named(deployed, path))  # type: ignore[misc]


def test_a_sweep_runs_to_its_end_once(person: Person) -> None:
    _write(person.folder, 0)
    told = person("sweep", "-f", f"{_NAME}.yaml")
    run = _run(told)
    assert f"{run}-t0001: complete after 1 step, loss 0.5" in told
    assert f"\n{run}: 2 of 2 trials ended: 2 complete" in told
    assert "has finished already" in person("sweep", "-f", f"{_NAME}.yaml")
