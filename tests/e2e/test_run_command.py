"""`tensorplane run`, `jobs`, `logs`, `describe` and `cancel`, as a person in a folder of their own uses them."""

from __future__ import annotations

import json
import re
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Deployed
from tests.support import command
from tests.support.waiting import PATIENT_SECONDS, eventually

TRAINS = """
import os
import sys
import time

print("epochs", sys.argv[2], "in", os.path.basename(os.getcwd()), flush=True)
import helper

for step in range(1, 6):
    print(f"tensorplane: step={step} steps=5 loss={1 / step:.3f} steps_per_second=10.0 eta_seconds=1", flush=True)
    time.sleep(helper.SECONDS)
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


@dataclass(frozen=True)
class Person:
    """Somebody with a folder, and with nothing else of this project than the command."""

    folder: Path

    def __call__(self, *words: str, code: int = 0) -> str:
        return command.output(self.folder, *words, code=code)

    def jobs(self, *, cancelled: bool = False) -> dict[str, dict[str, Any]]:
        """Its own jobs by run, without cancelled ones or those alone."""
        listed = json.loads(self("jobs", "--all", "--json"))
        own = [job for job in listed if job["namespace"] == "tensorplane-dev" and job["name"] != "digits"]
        return {job["run"]: job for job in own if (job["state"] == "cancelled") is cancelled}


@pytest.fixture
def person(deployed: Deployed, tmp_path: Path) -> Iterator[Person]:
    (tmp_path / "train.py").write_text(TRAINS)
    (tmp_path / "helper.py").write_text("SECONDS = 0.2")
    (tmp_path / "waits.py").write_text(WAITS)
    (tmp_path / "restarts.py").write_text(RESTARTS)
    person = Person(tmp_path)
    yield person
    for job in person.jobs().values():
        deployed.kube.delete(f"/apis/jobset.x-k8s.io/v1alpha2/namespaces/{job['namespace']}/jobsets/{job['run']}")


_SMALL = ("--queue", "training", "--cpus", "0.1", "--memory-gib", "0.25")


def test_a_command_runs_to_its_end_and_its_lines_are_seen(person: Person) -> None:
    told = person("run", *_SMALL, "--volume", "models:/models", "--", "python", "train.py", "--epochs", "3")
    asks = "1 pod, price unknown; goes on from its checkpoints if it has any"
    run = re.findall(rf"^(train-\w+): submitted to tensorplane-dev: {asks}$", told, re.MULTILINE)[0]
    assert "epochs 3 in app" in told
    assert "tensorplane: step=5 steps=5 loss=0.200" in told
    assert told.rstrip().endswith(f"{run}: finished")
    job = person.jobs()[run]
    assert (job["state"], job["queue"], job["restarts"]) == ("finished", "training", 0)
    again = person("run", *_SMALL, "--volume", "models:/models", "--", "python", "train.py", "--epochs", "3")
    assert f"{run}: the same command with the same files has finished already" in again
    assert len(person.jobs()) == 1
    shown = person("describe", run)
    assert "python3 train.py --epochs 3" in shown
    assert "steps/s" in shown
    assert "/models/checkpoints" in shown


def test_several_workers_have_prefixed_lines_and_can_be_cancelled(person: Person, deployed: Deployed) -> None:
    told = person("run", *_SMALL, "--workers", "2", "--detach", "--", "python", "waits.py")
    run = told.partition(":")[0]
    eventually(lambda: person.jobs()[run]["state"] == "running")
    both = ["worker-0 │ waiting", "worker-1 │ waiting"]
    eventually(lambda: sorted(person("logs", run).splitlines()) == both)
    assert person("logs", run, "--index", "1") == "waiting\n", "lines of one pod have no prefix"
    assert "the job has no role ps; it has worker" in person("logs", run, "--role", "ps", code=1)
    follower = subprocess.Popen(
        command.argv("logs", "-f", run), cwd=person.folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    time.sleep(2)
    assert f"{run}: cancelled; its pods have 30 s to save and end" in person("cancel", run)
    shown, _ = follower.communicate(timeout=PATIENT_SECONDS)
    assert f"{run}: was deleted" in shown
    again = person("run", *_SMALL, "--workers", "2", "--detach", "--", "python", "waits.py")
    assert f"{run}: submitted" in again, "it waits until the cancelled one is gone"
    person("cancel", run)
    eventually(lambda: run not in person.jobs())
    assert run in person.jobs(cancelled=True)
    of_job = f"app.kubernetes.io/name={run.rpartition('-')[0]}"
    for kind in ("api/v1/{}/configmaps", "api/v1/{}/serviceaccounts", "apis/networking.k8s.io/v1/{}/networkpolicies"):
        path = f"/{kind}".format("namespaces/tensorplane-dev")
        eventually(partial(_none, deployed, path, of_job))


def _none(deployed: Deployed, path: str, selector: str) -> bool:
    return not deployed.kube.items(path, labelSelector=selector)


def test_a_failed_job_says_why_first_and_the_command_fails(person: Person) -> None:
    (person.folder / "helper.py").write_text("raise ValueError('no data')")
    told = person("run", *_SMALL, "--", "python", "train.py", "--epochs", "1", code=1)
    run = re.findall(r"^(train-\w+): submitted", told, re.MULTILINE)[0]
    assert "ValueError: no data" in told
    first = person("logs", run).splitlines()[0]
    assert re.match(rf"{run}-\w+-0-0-\w+: exit code 78", first)


def test_lines_of_a_former_gang_are_kept(person: Person) -> None:
    told = person("run", *_SMALL, "--volume", "models:/models", "--", "python", "restarts.py")
    run = re.findall(r"^(restarts-\w+): submitted", told, re.MULTILINE)[0]
    assert person.jobs()[run]["restarts"] == 1
    assert person("logs", run) == "second start\n"
    assert person("logs", "--previous", run) == "first start\n"


def test_a_mistake_touches_nothing(person: Person) -> None:
    told = person("run", "--queue", "trainin", "--memory-gib", "9999", "--", "python", "trian.py", code=1)
    assert {line.partition(":")[0] for line in told.splitlines()} >= {"--queue", "COMMAND"}
    assert "did you mean training?" in told
    assert person.jobs() == {}
