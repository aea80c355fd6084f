"""`tensorplane sweep -f` in a stack's namespace: stopped and continued, run to its end."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.e2e.conftest import Deployed
from tests.support.person import Person
from tests.support.waiting import eventually

pytestmark = pytest.mark.nightly("told by the member's sweep but for its continuation, which takes two deletions")

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


@pytest.fixture
def person(deployed: Deployed, tmp_path: Path) -> Iterator[Person]:
    yield (person := Person(tmp_path))
    for name in _names(deployed, person, _JOB_SETS):
        deployed.kube.delete(f"{_JOB_SETS}/{name}")


def _submission(person: Person, seconds: int) -> tuple[str, ...]:
    """What submits a sweep whose trials last so long."""
    trial = {
        "command": ["python3", "-c", _WAITS],
        "resources": {"cpus": 0.05, "memoryGib": 0.1},
        "volumes": {"models": "/models"},
        "queue": "training",
        "env": {"SECONDS": str(seconds)},
    }
    search = {"parameters": {"RATE": {"low": 0.1, "high": 1}}, "trials": 2, "parallel": 2}
    file = f"{person.name}.yaml"
    (person.folder / file).write_text(yaml.safe_dump({"search": search, "trial": trial}))
    return ("sweep", "-f", file)


def _run(person: Person, told: str) -> str:
    found: str = re.findall(rf"^({person.name}-[0-9a-f]+): ", told, re.MULTILINE)[0]
    return found


def _names(deployed: Deployed, person: Person, path: str) -> set[str]:
    found = deployed.kube.items(path, labelSelector=f"app.kubernetes.io/name={person.name}")
    return {one["metadata"]["name"] for one in found}


def test_a_cancelled_sweep_leaves_nothing_and_the_same_command_continues_it(person: Person, deployed: Deployed) -> None:
    submit = (*_submission(person, 9999), "--detach")
    run = _run(person, person(*submit))
    trials = {f"{run}-t0000", f"{run}-t0001"}
    eventually(lambda: trials <= _names(deployed, person, _JOB_SETS))
    assert person("cancel", person.name).startswith(f"{run}: cancelled, and its trials with it")
    assert f"{run}: submitted to tensorplane-dev: 2 trials, 2 at once" in person(*submit)
    eventually(lambda: trials <= _names(deployed, person, _JOB_SETS))
    assert [row["state"] for row in json.loads(person("sweep", person.name, "--json"))["trials"]] == ["open", "open"]
    person("cancel", run)
    for path in (_JOB_SETS, *_OTHERS):
        eventually(lambda path=path: not _names(deployed, person, path))  # type: ignore[misc]


def test_a_sweep_runs_to_its_end_once(person: Person) -> None:
    submit = _submission(person, 0)
    told = person(*submit)
    run = _run(person, told)
    assert f"{run}-t0001: complete after 1 step, loss 0.5" in told
    assert f"\n{run}: 2 of 2 trials ended: 2 complete" in told
    assert "has finished already" in person(*submit)
