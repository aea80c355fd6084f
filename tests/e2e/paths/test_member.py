"""A team's member with the team's credentials alone trains a model, publishes it, and runs, watches and stops jobs."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
import yaml

from tensorplane.core.kube import Kube
from tensorplane.core.paths import PROJECT
from tests.e2e.paths.conftest import TEAM
from tests.e2e.stacks import OwnStack
from tests.support.documented import blocks, commands
from tests.support.person import Person
from tests.support.waiting import eventually

_SMALL = ("--queue", "research", "--cpus", "0.1", "--memory-gib", "0.25")
_WAITS = "import time; print('waiting', flush=True); time.sleep(3600)"
_WRITES = """
import errno, pathlib
try:
    pathlib.Path("/datasets/file").write_text("written")
    print("wrote", flush=True)
except OSError as error:
    print(errno.errorcode[error.errno], flush=True)
"""
_TRAINS = """
import keras
import numpy as np

import tensorplane

x = np.random.default_rng(7).normal(size=(256, 1)).astype("float32")
model = keras.Sequential([keras.Input((1,), name="x"), keras.layers.Dense(1)])
model.compile(optimizer="adam", loss="mse")
tensorplane.fit(model, x, 3 * x + 1, batch_size=64, epochs=2)
tensorplane.publish(model)
"""


def test_the_member_of_the_page_trains_and_publishes(member: Person, paths: OwnStack) -> None:
    page = (PROJECT / "docs/running-jobs.md").read_text()
    member.write(train=next(one.text for one in blocks(page) if one.language == "python"))
    section = page.partition("### The first model of a member\n")[2].partition("\n### ")[0]
    trains, publishes = (
        each.words for each in commands(section) if each.words[:2] == ("tensorplane", "run") and not each.inline
    )
    assert member(*trains[1:]).endswith(": finished; model version 1 in /models/vision/train\n")
    told = member(*publishes[1:])
    asked = re.search(r"^(train-\w+): has finished; (\S+) publishes its model to squares-server$", told, re.MULTILINE)
    assert asked, told
    assert "loss=" in member("logs", asked[1]), "what the run has printed is still there"
    assert len(json.loads(member("describe", asked[1], "--json"))["points"]) > 1
    assert (paths.volume() / "vision" / "checkpoints" / asked[1]).is_dir()
    eventually(lambda: asked[2] not in member("jobs", "--all"))
    server = f"/apis/apps/v1/namespaces/{paths.namespace}/deployments/squares-server"
    eventually(lambda: ((paths.kube.get(server) or {}).get("status") or {}).get("readyReplicas") == 1)
    assert re.search(r"^squares-server +squares +1 AVAILABLE", member("models"), re.MULTILINE)
    (member.folder / "request.json").write_text("[[1.0]]")
    assert '{"predictions": [[' in member("predict", "squares-server", "request.json")


def test_a_member_runs_watches_and_stops_jobs(member: Person) -> None:
    member.write(speaks="print('spoken', flush=True)")
    job = ("run", *_SMALL, "--name", member.name, "--", "python", "speaks.py")
    told = member(*job)
    run = re.findall(rf"^({member.name}-\w+): submitted to vision: 1 pod", told, re.MULTILINE)[0]
    assert told.rstrip().endswith(f"{run}: finished")
    assert f"{run}: the same command with the same files has finished already" in member(*job)
    assert re.search(rf"^{run} +finished", member("jobs", "--team", TEAM), re.MULTILINE)
    assert member("logs", run) == "spoken\n"
    assert "finished" in member("why", run)
    assert "python3 speaks.py" in member("describe", run)


def test_a_member_sees_the_lines_of_a_job_and_cancels_it(member: Person) -> None:
    member.write(waits=_WAITS)
    job = ("--name", member.name, "--detach", "--", "python", "waits.py")
    run = member("run", *_SMALL, *job).partition(":")[0]
    with member.started("logs", "-f", run) as follower:
        follower.until("^waiting$")
        eventually(lambda: re.search(rf"^{run} +running", member("jobs"), re.MULTILINE))
        assert "cancelled" in member("cancel", run)
        assert f"{run}: was deleted" in follower.ended(code=1)
    eventually(lambda: re.search(rf"^{run} +cancelled", member("jobs"), re.MULTILINE))
    assert f"{run}: was cancelled at " in member("logs", run, code=1)


def test_a_job_of_the_stack_in_the_teams_namespace_runs_in_its_queue(member: Person) -> None:
    eventually(lambda: "finished" in member("why", "baseline"))
    assert "baseline reads [" in member("logs", "baseline")


def test_a_volume_that_the_team_may_only_read_is_read_only_whatever_the_pod_says(member: Person) -> None:
    member.write(writes=_WRITES)
    reads = ("--volume", "datasets:/datasets:ro", "--", "python", "writes.py")
    told = member("run", *_SMALL, "--name", member.name, *reads)
    run = re.findall(rf"^({member.name}-\w+): submitted", told, re.MULTILINE)[0]
    assert member("logs", run) == "EROFS\n"
    # A member who writes the JobSet by hand, and asks for more.
    job_set, *others = yaml.safe_load_all(member("run", "--dry-run", *_SMALL, "--name", f"{member.name}-hand", *reads))
    pod = job_set["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]
    mount = next(one for one in pod["containers"][0]["volumeMounts"] if one["mountPath"] == "/datasets")
    assert mount.pop("readOnly")
    for volume in pod["volumes"]:
        volume.get("persistentVolumeClaim", {}).pop("readOnly", None)
    assert member.kubeconfig
    api = Kube.of(member.kubeconfig)
    for thing in (job_set, *others):
        group = {"JobSet": "/apis/jobset.x-k8s.io/v1alpha2", "ConfigMap": "/api/v1"}[thing["kind"]]
        at, name = thing["metadata"]["namespace"], thing["metadata"]["name"]
        api.apply(f"{group}/namespaces/{at}/{thing['kind'].lower()}s/{name}", thing, "by-hand")
    refused = "volume datasets is read-only for team vision; mount it with readOnly: true"
    about = job_set["metadata"]["name"]
    eventually(lambda: any(_says(event, about, refused) for event in api.items(f"/api/v1/namespaces/{TEAM}/events")))
    member("cancel", about)


def _says(event: dict[str, Any], about: str, words: str) -> bool:
    return event["involvedObject"]["name"].startswith(about) and words in event.get("message", "")


@pytest.mark.nightly("unit tests tell it by a table; the page's member tells the rest of the publication")
@pytest.mark.parametrize(
    ("asked", "told"),
    [
        (("--queue", "closed"), "--queue: closed is no queue of team vision; choose one of research"),
        (
            (*_SMALL, "--volume", "secrets:/secrets"),
            "--volume: secrets is no volume of team vision; choose one of datasets, models",
        ),
        (
            (*_SMALL, "--volume", "datasets:/datasets"),
            "--volume: team vision may only read volume datasets; mount it as datasets:/datasets:ro",
        ),
        (
            (*_SMALL, "--volume", "models:/models", "--publish", "other"),
            "--publish: other is no model server that team vision may publish to; choose one of "
            "digits, half, searched, squares-server",
        ),
    ],
    ids=["queue", "volume", "access", "server"],
)
def test_what_the_team_does_not_have_is_refused_in_one_line(member: Person, asked: tuple[str, ...], told: str) -> None:
    member.write(none="")
    assert member("run", *asked, "--", "python", "none.py", code=1) == f"{told}\n"


@pytest.mark.nightly("the page's member publishes, too; this one in one command, from a program of its own")
def test_a_member_publishes_to_a_server_with_the_run_itself(member: Person, paths: OwnStack) -> None:
    member.write(fits=_TRAINS)
    size = ("--queue", "research", "--cpus", "0.4", "--memory-gib", "1", "--volume", "models:/models")
    told = member("run", *size, "--name", member.name, "--publish", "digits", "--", "python", "fits.py")
    assert f": finished; model version 1 in /models/vision/{member.name}, published to /models/team-digits\n" in told
    run = re.findall(rf"^({member.name}-\w+): submitted", told, re.MULTILINE)[0]
    published = re.search(r"^tensorplane: published=/models/team-digits/(\d+)", member("logs", run), re.MULTILINE)
    assert published
    volume = paths.volume()
    assert (volume / "team-digits" / published[1] / "saved_model.pb").exists()
    assert (volume / "vision" / member.name / "1").is_dir()
    assert (volume / "vision" / "checkpoints" / run).is_dir()
    assert not list((volume / "checkpoints").glob("*")), "a team's checkpoints are below its own folder"
