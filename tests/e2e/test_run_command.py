"""`tensorplane run`, `jobs`, `logs`, `describe` and `cancel`, as a person in a folder of their own uses them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.e2e.conftest import Deployed
from tests.support.person import Person
from tests.support.waiting import eventually

pytestmark = pytest.mark.nightly("some twenty commands; a team's member in e2e/paths runs most of them")

TRAINS = """
import os
import sys

print("epochs", sys.argv[2], "in", os.path.basename(os.getcwd()), flush=True)
import helper

for step in range(1, 6):
    print(f"tensorplane: step={step} steps=5 loss={1 / step:.3f} steps_per_second=10.0 eta_seconds=1", flush=True)
"""
WAITS = "import time; print('waiting', flush=True); time.sleep(3600)"
RESTARTS = """
import os, pathlib, sys
marker = pathlib.Path(os.environ["TENSORPLANE_RUN"] + ".marker")
print("second start" if marker.exists() else "first start", flush=True)
if not marker.exists():
    marker.touch()
    sys.exit(75)
marker.unlink()
"""
_INSIDE = "namespaces/tensorplane-dev"
_JOB_SETS = f"/apis/jobset.x-k8s.io/v1alpha2/{_INSIDE}/jobsets"


@pytest.fixture
def person(deployed: Deployed, tmp_path: Path) -> Iterator[Person]:
    person = Person(tmp_path)
    person.write(train=TRAINS, helper="", waits=WAITS, restarts=RESTARTS)
    yield person
    for run in person.jobs():
        deployed.kube.delete(f"{_JOB_SETS}/{run}")


def _asks(person: Person, *more: str) -> tuple[str, ...]:
    return ("run", "--queue", "training", "--cpus", "0.1", "--memory-gib", "0.25", "--name", person.name, *more)


def test_a_command_runs_to_its_end_and_once(person: Person) -> None:
    job = _asks(person, "--volume", "models:/models", "--", "python", "train.py", "--epochs", "3")
    told = person(*job)
    asks = "1 pod, price unknown; goes on from its checkpoints if it has any"
    run = re.findall(rf"^({person.name}-\w+): submitted to tensorplane-dev: {asks}$", told, re.MULTILINE)[0]
    assert told.rstrip().endswith(f"{run}: finished")
    said = person("logs", run)
    assert "epochs 3 in app" in said
    assert "tensorplane: step=5 steps=5 loss=0.200" in said
    made = person.jobs()[run]
    assert (made["state"], made["queue"], made["restarts"]) == ("finished", "training", 0)
    assert f"{run}: the same command with the same files has finished already" in person(*job)
    assert len(person.jobs()) == 1
    shown = person("describe", run)
    assert "python3 train.py --epochs 3" in shown
    assert "steps/s" in shown
    assert "/models/checkpoints" in shown


def test_several_workers_have_prefixed_lines_and_can_be_cancelled(person: Person, deployed: Deployed) -> None:
    job = _asks(person, "--workers", "2", "--detach", "--", "python", "waits.py")
    run = person(*job).partition(":")[0]
    eventually(lambda: person.jobs()[run]["state"] == "running")
    both = ["worker-0 │ waiting", "worker-1 │ waiting"]
    eventually(lambda: sorted(person("logs", run).splitlines()) == both)
    assert person("logs", run, "--index", "1") == "waiting\n", "lines of one pod have no prefix"
    assert "the job has no role ps; it has worker" in person("logs", run, "--role", "ps", code=1)
    with person.started("logs", "-f", run) as follower:
        follower.until(*both)
        assert f"{run}: cancelled; its pods have 30 s to save and end" in person("cancel", run)
        assert f"{run}: was deleted" in follower.ended(code=1)
    assert f"{run}: submitted" in person(*job), "it waits until the cancelled one is gone"
    person("cancel", run)
    eventually(lambda: run not in person.jobs())
    assert run in person.jobs(cancelled=True)
    for kind in ("api/v1/{}/configmaps", "api/v1/{}/serviceaccounts", "apis/networking.k8s.io/v1/{}/networkpolicies"):
        eventually(partial(_none, deployed, f"/{kind.format(_INSIDE)}", f"app.kubernetes.io/name={person.name}"))


def _none(deployed: Deployed, path: str, selector: str) -> bool:
    return not deployed.kube.items(path, labelSelector=selector)


def test_a_failed_job_says_why_first_and_the_command_fails(person: Person) -> None:
    person.write(helper="raise ValueError('no data')")
    told = person(*_asks(person, "--", "python", "train.py", "--epochs", "1"), code=1)
    run = re.findall(rf"^({person.name}-\w+): submitted", told, re.MULTILINE)[0]
    first, *others = person("logs", run).splitlines()
    assert re.match(rf"{run}-\w+-0-0-\w+: exit code 78", first)
    assert any("ValueError: no data" in line for line in others)


def test_lines_of_a_former_gang_are_kept(person: Person) -> None:
    told = person(*_asks(person, "--volume", "models:/models", "--", "python", "restarts.py"))
    run = re.findall(rf"^({person.name}-\w+): submitted", told, re.MULTILINE)[0]
    assert person.jobs()[run]["restarts"] == 1
    assert person("logs", run) == "second start\n"
    assert person("logs", "--previous", run) == "first start\n"


def test_a_mistake_touches_nothing(person: Person, deployed: Deployed) -> None:
    name = ("--name", person.name)
    told = person("run", *name, "--queue", "trainin", "--memory-gib", "9999", "--", "python", "trian.py", code=1)
    assert {line.partition(":")[0] for line in told.splitlines()} >= {"--queue", "COMMAND"}
    assert "did you mean training?" in told
    assert _none(deployed, _JOB_SETS, f"app.kubernetes.io/name={person.name}")
