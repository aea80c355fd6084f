"""A team's member with the team's credentials alone: runs, watches and stops jobs; everything else is denied."""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from kubernetes import client, config

from driver import linked_project, sweep_image
from driver.kube import Kube
from embedded.images import package_layer
from embedded.paths import PROJECT
from embedded.step import Step
from stack_file import sweep_packages
from tests.e2e.conftest import Deployed
from tests.e2e.test_sweep import SCRIPT, Seen, decided
from tests.support import command, sweep_world
from tests.support.documented import blocks, commands
from tests.support.waiting import PATIENT_SECONDS, eventually

NAMESPACE, TEAM = "tensorplane-teams", "vision"
SETTINGS = f"""
config:
  tensorplane:namespace: {NAMESPACE}
  tensorplane:controllers: {{kueue: present, jobset: present}}
  tensorplane:queues:
    research: {{cpus: 0.5, memoryGib: 1, teams: [{TEAM}]}}
    closed: {{cpus: 0.1, memoryGib: 0.1}}
  tensorplane:volumes:
    datasets: {{sizeGib: 0.1, retain: false}}
    models: {{sizeGib: 0.1, retain: false}}
  tensorplane:teams:
    {TEAM}: {{retain: false, members: ["user:ada"], volumes: {{datasets: readOnly, models: readWrite}}}}
  tensorplane:workloads:
    digits:
      kind: modelServer
      resources: {{cpus: 0.1, memoryGib: 0.25}}
      model: {{volume: models, path: digits}}
    squares-server:
      kind: modelServer
      resources: {{cpus: 0.1, memoryGib: 0.25}}
      model: {{volume: models, path: squares}}
    baseline:
      kind: trainingJob
      team: {TEAM}
      queue: research
      strategy: {{kind: single}}
      resources: {{cpus: 0.1, memoryGib: 0.1}}
      command: [python, -c, "import os; print('baseline reads', os.listdir('/datasets'), flush=True)"]
      volumes: {{datasets: {{path: /datasets, readOnly: true}}}}
"""
TRAINS = """
import keras
import numpy as np

import tensorplane

x = np.random.default_rng(7).normal(size=(256, 1)).astype("float32")
model = keras.Sequential([keras.Input((1,), name="x"), keras.layers.Dense(1)])
model.compile(optimizer="adam", loss="mse")
tensorplane.fit(model, x, 3 * x + 1, batch_size=64, epochs=2)
print("version", tensorplane.publish(model), flush=True)
"""
WRITES = """
import errno
import pathlib
import sys

try:
    pathlib.Path(sys.argv[1], "file").write_text("written")
    print("wrote", flush=True)
except OSError as error:
    print(errno.errorcode[error.errno], flush=True)
"""


@dataclass(frozen=True)
class Member:
    """Somebody with a folder and a kubeconfig, which names the team."""

    folder: Path
    kubeconfig: Path

    def __call__(self, *words: str, code: int = 0) -> str:
        environment = {**os.environ, "KUBECONFIG": str(self.kubeconfig)}
        return command.output(self.folder, *words, code=code, environment=environment)

    def started(self, *words: str) -> subprocess.Popen[str]:
        """The same, without waiting for its end."""
        environment = {**os.environ, "KUBECONFIG": str(self.kubeconfig)}
        argv = command.argv(*words)
        pipe, both = subprocess.PIPE, subprocess.STDOUT
        return subprocess.Popen(argv, cwd=self.folder, env=environment, text=True, stdout=pipe, stderr=both)


@pytest.fixture(scope="module")
def member(deployed: Deployed, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Member]:
    folder = tmp_path_factory.mktemp("member")
    _deploy(deployed, folder / "project", SETTINGS)
    home = folder / "home"
    home.mkdir()
    (home / "train.py").write_text("print('trained', flush=True)")
    (home / "fits.py").write_text(TRAINS)
    (home / "writes.py").write_text(WRITES)
    kubeconfig = folder / "kubeconfig"
    kubeconfig.write_text(_issued(deployed))
    yield Member(home, kubeconfig)


def _deploy(deployed: Deployed, folder: Path, settings: str) -> None:
    named = replace(deployed.stack, settings=replace(deployed.stack.settings, name="teams"))
    stack = linked_project.with_settings(named, folder, settings)
    stack.prepare(Step("prepare"))
    stack.up(Step("pulumi up"))


def _issued(deployed: Deployed) -> str:
    from cli import members_kubeconfig
    from components.queues import members
    from embedded.cluster import kubeconfig
    from embedded.cluster.places import Places

    keys = Places(deployed.instance).keys
    found = kubeconfig.of_member(deployed.instance, keys, TEAM, members.group(NAMESPACE, TEAM), TEAM)
    return members_kubeconfig.noted(found.decode(), TEAM)


_SMALL = ("--queue", "research", "--cpus", "0.1", "--memory-gib", "0.25")


def test_a_member_runs_watches_and_stops_jobs(member: Member) -> None:
    told = member("run", *_SMALL, "--", "python", "train.py")
    run = re.findall(r"^(train-\w+): submitted to vision: 1 pod", told, re.MULTILINE)[0]
    assert "\ntrained\n" in told
    assert told.rstrip().endswith(f"{run}: finished")
    assert re.search(rf"^{run} +finished", member("jobs", "--team", TEAM), re.MULTILINE)
    assert member("logs", run) == "trained\n"
    assert "finished" in member("why", run)
    assert "python3 train.py" in member("describe", run)
    waiting = member("run", *_SMALL, "--name", "long", "--detach", "--", "python", "-c", "import time; time.sleep(999)")
    long = waiting.partition(":")[0]
    eventually(lambda: re.search(rf"^{long} +running", member("jobs"), re.MULTILINE))
    assert "cancelled" in member("cancel", long)
    eventually(lambda: re.search(rf"^{long} +cancelled", member("jobs"), re.MULTILINE))
    assert f"{long}: was cancelled at " in member("logs", long, code=1)


def test_the_member_of_the_readme_trains_and_publishes(member: Member, deployed: Deployed) -> None:
    page = (PROJECT / "README.md").read_text()
    (member.folder / "train.py").write_text(next(one.text for one in blocks(page) if one.language == "python"))
    trains, publishes = (
        each.words for each in commands(page) if each.words[:2] == ("tensorplane", "run") and not each.inline
    )
    assert member(*trains[1:]).endswith(": finished; model version 1 in /models/vision/train\n")
    told = member(*publishes[1:])
    asked = re.search(r"^(train-\w+): has finished; (\S+) publishes its model to squares-server$", told, re.MULTILINE)
    assert asked, told
    assert re.search(r"^tensorplane: published=/models/squares/1", told, re.MULTILINE), told
    assert "loss=" in member("logs", asked[1]), "what the run has printed is still there"
    assert len(json.loads(member("describe", asked[1], "--json"))["points"]) > 1
    eventually(lambda: asked[2] not in member("jobs", "--all"))
    server = f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/squares-server"
    eventually(lambda: ((deployed.kube.get(server) or {}).get("status") or {}).get("readyReplicas") == 1)
    assert re.search(r"^squares-server +squares +1 AVAILABLE", member("models"), re.MULTILINE)
    (member.folder / "request.json").write_text("[[1.0]]")
    assert '{"predictions": [[' in member("predict", "squares-server", "request.json")


def test_a_job_of_the_stack_in_the_teams_namespace_runs_in_its_queue(member: Member) -> None:
    assert "baseline reads [" in member("logs", "-f", "baseline")
    assert "finished" in member("why", "baseline")


def test_another_queue_or_volume_is_refused_in_one_line(member: Member) -> None:
    job = ("--", "python", "train.py")
    assert member("run", "--queue", "closed", *job, code=1) == (
        "--queue: closed is no queue of team vision; choose one of research\n"
    )
    told = member("run", *_SMALL, "--volume", "secrets:/secrets", *job, code=1)
    assert told == "--volume: secrets is no volume of team vision; choose one of datasets, models\n"
    told = member("run", *_SMALL, "--volume", "datasets:/datasets", *job, code=1)
    assert told == "--volume: team vision may only read volume datasets; mount it as datasets:/datasets:ro\n"
    told = member("run", *_SMALL, "--volume", "models:/models", "--publish", "other", *job, code=1)
    assert told == (
        "--publish: other is no model server that team vision may publish to; choose one of digits, squares-server\n"
    )


def test_a_member_keeps_checkpoints_on_a_volume_and_publishes_to_a_server_of_the_stack(member: Member) -> None:
    given = ("--queue", "research", "--cpus", "0.4", "--memory-gib", "1", "--volume", "models:/models")
    told = member("run", *given, "--publish", "digits", "--", "python", "fits.py")
    assert "\nversion 1\n" in told
    assert "published=/models/digits/1" in told
    assert re.search(r"^/models/checkpoints/", told, re.MULTILINE) is None
    listed = member("run", *given[:-2], "--volume", "models:/models:ro", "--", "python", "-c", _LIST)
    assert {"vision/fits/1", "digits/1"} <= set(re.findall(r"^([\w/]+/1)$", listed, re.MULTILINE))
    assert re.search(r"^vision/checkpoints/fits-\w+$", listed, re.MULTILINE)


_LIST = """
from glob import glob
print(*sorted(glob("*/*", root_dir="/models") + glob("*/*/*", root_dir="/models")), sep="\\n")
"""


def test_a_volume_that_the_team_may_only_read_is_read_only_whatever_the_pod_says(member: Member) -> None:
    told = member("run", *_SMALL, "--volume", "datasets:/datasets:ro", "--", "python", "writes.py", "/datasets")
    assert "\nEROFS\n" in told
    # A member who writes the JobSet by hand, and asks for more.
    planned = member(
        "run", "--dry-run", *_SMALL, "--name", "byhand", "--volume", "datasets:/datasets:ro", "--", *_WRITE
    )
    objects = list(yaml.safe_load_all(planned))
    mount = next(one for one in _pod(objects[0])["containers"][0]["volumeMounts"] if one["mountPath"] == "/datasets")
    assert mount.pop("readOnly")
    for volume in _pod(objects[0])["volumes"]:
        volume.get("persistentVolumeClaim", {}).pop("readOnly", None)
    _create(member, objects)
    events = f"/api/v1/namespaces/{TEAM}/events"
    refused = "volume datasets is read-only for team vision; mount it with readOnly: true"
    eventually(lambda: any(refused in each.get("message", "") for each in Kube.of(member.kubeconfig).items(events)))
    member("cancel", objects[0]["metadata"]["name"])


_WRITE = ("python", "writes.py", "/datasets")


def _pod(job_set: Any) -> Any:
    return job_set["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]


def _create(member: Member, objects: list[Any]) -> None:
    api = Kube.of(member.kubeconfig)
    groups = {"JobSet": "/apis/jobset.x-k8s.io/v1alpha2", "ConfigMap": "/api/v1"}
    for thing in objects:
        kind, about = thing["kind"], thing["metadata"]
        path = f"{groups[kind]}/namespaces/{about['namespace']}/{kind.lower()}s/{about['name']}"
        api.apply(path, thing, "by-hand")


_SEARCH = {"trials": 12, "parallel": 3}
_LEAST_KILLS = 3


def test_a_members_sweep_loses_and_repeats_no_trial_while_its_controller_is_killed(
    member: Member, deployed: Deployed, tmp_path: Path
) -> None:
    sweep_image.provide(deployed.instance, package_layer.image(sweep_packages.lines(PROJECT)).name)
    search = {**sweep_world.sweep(tmp_path).search, **_SEARCH}
    trial = {
        "command": ["python3", "-c", SCRIPT],
        "resources": {"cpus": 0.1, "memoryGib": 0.25},
        "volumes": {"models": "/models"},
        "maxRestarts": 0,
    }
    (member.folder / "rate.yaml").write_text(yaml.safe_dump({"search": search, "trial": trial}))
    seen, stop = Seen(), threading.Event()
    apis = client.CustomObjectsApi(config.new_client_from_config(str(deployed.instance.kubeconfig)))
    threading.Thread(target=seen.follow, args=(apis, stop, TEAM), daemon=True).start()
    told = member("sweep", "-f", "rate.yaml", "--detach")
    run = re.findall(r"^(rate-\w+): submitted to vision: 12 trials, 3 at once, 3 pods", told, re.MULTILINE)[0]
    # A second submission is the same sweep, which it follows.
    follows = member.started("sweep", "-f", "rate.yaml")
    chance, kills = random.Random(25), 0
    while kills < _LEAST_KILLS:
        kills += _kill_controller(deployed, run, chance)
    shown, _ = follows.communicate(timeout=PATIENT_SECONDS)
    assert follows.returncode == 0, shown
    stop.set()
    results = json.loads(member("sweep", run, "--json"))
    undisturbed, _, _ = sweep_world.finish(sweep_world.sweep(tmp_path, **_SEARCH), tmp_path, timing=1, kill_chance=0)
    assert decided(results) == decided(undisturbed)
    trials = {f"{run}-t{number:04}": 1 for number in range(12)}
    assert {name: count for name, count in seen.created.items() if name in trials} == trials
    for row in results["trials"]:
        assert re.search(rf"^{row['run']}: {row['state']}", shown, re.MULTILINE), shown
    assert f"\n{run}: 12 of 12 trials" in shown
    assert re.search(rf"^{run} +finished", member("jobs", "--all"), re.MULTILINE)
    assert "has finished already" in member("sweep", "-f", "rate.yaml")
    assert "tensorplane: published=/models/digits/" in member("sweep", "rate", "--publish", "digits")


def _kill_controller(deployed: Deployed, run: str, chance: random.Random) -> int:
    """Kill the running controller at a random moment; how many were killed."""
    pods = f"/api/v1/namespaces/{TEAM}/pods"
    labelled = {"labelSelector": f"jobset.sigs.k8s.io/jobset-name={run}"}

    def running() -> list[str]:
        found = [pod for pod in deployed.kube.items(pods, **labelled) if pod["status"]["phase"] == "Running"]
        return [pod["metadata"]["name"] for pod in found]

    [name] = eventually(running) or [""]
    time.sleep(chance.uniform(0, 2))
    deployed.kube.delete(f"{pods}/{name}", gracePeriodSeconds="0")
    eventually(lambda: name not in running())
    return 1


ALLOWED = {
    ("create", "jobset.x-k8s.io", "jobsets", TEAM),
    ("delete", "jobset.x-k8s.io", "jobsets", TEAM),
    ("list", "jobset.x-k8s.io", "jobsets", TEAM),
    ("create", "", "configmaps", TEAM),
    ("list", "", "pods", TEAM),
    ("get", "", "pods/log", TEAM),
    ("list", "", "events", TEAM),
    ("list", "kueue.x-k8s.io", "workloads", TEAM),
    ("list", "kueue.x-k8s.io", "localqueues", TEAM),
    ("list", "kueue.x-k8s.io", "clusterqueues", ""),
    ("list", "kueue.x-k8s.io", "resourceflavors", ""),
}
DENIED = {
    ("create", "", "pods", TEAM),
    ("delete", "", "pods", TEAM),
    ("create", "", "pods/exec", TEAM),
    ("create", "", "pods/portforward", TEAM),
    ("list", "", "secrets", TEAM),
    ("get", "", "secrets", TEAM),
    ("create", "", "secrets", TEAM),
    ("create", "", "services", TEAM),
    ("create", "", "serviceaccounts", TEAM),
    ("create", "", "serviceaccounts/token", TEAM),
    ("create", "", "persistentvolumeclaims", TEAM),
    ("delete", "", "configmaps", TEAM),
    ("create", "batch", "jobs", TEAM),
    ("create", "apps", "deployments", TEAM),
    ("create", "networking.k8s.io", "networkpolicies", TEAM),
    ("delete", "networking.k8s.io", "networkpolicies", TEAM),
    ("create", "rbac.authorization.k8s.io", "rolebindings", TEAM),
    ("patch", "kueue.x-k8s.io", "workloads", TEAM),
    ("create", "kueue.x-k8s.io", "localqueues", TEAM),
    ("update", "kueue.x-k8s.io", "clusterqueues", ""),
    ("create", "kueue.x-k8s.io", "resourceflavors", ""),
    ("create", "jobset.x-k8s.io", "jobsets", NAMESPACE),
    ("list", "jobset.x-k8s.io", "jobsets", NAMESPACE),
    ("list", "jobset.x-k8s.io", "jobsets", "tensorplane-dev"),
    ("list", "jobset.x-k8s.io", "jobsets", ""),
    ("list", "", "pods", "tensorplane-dev"),
    ("get", "", "configmaps", NAMESPACE),
    ("get", "", "services", NAMESPACE),
    ("create", "", "services/proxy", NAMESPACE),
    ("list", "", "pods", ""),
    ("list", "", "nodes", ""),
    ("list", "", "persistentvolumes", ""),
    ("create", "", "namespaces", ""),
    ("patch", "", "namespaces", ""),
    ("impersonate", "", "users", ""),
    ("create", "certificates.k8s.io", "certificatesigningrequests", ""),
}


@pytest.mark.parametrize(("asked", "expected"), [(ALLOWED, True), (DENIED, False)], ids=["allowed", "denied"])
def test_what_the_api_server_lets_a_member_do(
    member: Member, asked: set[tuple[str, str, str, str]], expected: bool
) -> None:
    api = client.AuthorizationV1Api(config.new_client_from_config_dict(yaml.safe_load(member.kubeconfig.read_text())))

    def may(verb: str, group: str, resource: str, namespace: str) -> bool:
        plain, _, sub = resource.partition("/")
        wanted = {"verb": verb, "group": group, "resource": plain, "subresource": sub, "namespace": namespace}
        review = api.create_self_subject_access_review({"spec": {"resourceAttributes": wanted}})
        return bool(review.status.allowed)

    assert {each for each in asked if may(*each) is not expected} == set()


def test_a_team_that_may_write_from_now_on_writes_to_the_same_data(
    member: Member, deployed: Deployed, tmp_path: Path
) -> None:
    # Kubernetes keeps the former claim for the pods that have mounted it, finished ones too.
    job_sets = f"/apis/jobset.x-k8s.io/v1alpha2/namespaces/{TEAM}/jobsets"
    for one in deployed.kube.items(job_sets):
        deployed.kube.delete(f"{job_sets}/{one['metadata']['name']}", propagationPolicy="Foreground")
    _deploy(deployed, tmp_path / "project", SETTINGS.replace("datasets: readOnly", "datasets: readWrite"))
    told = member("run", *_SMALL, "--volume", "datasets:/datasets", "--", "python", "writes.py", "/datasets")
    assert "\nwrote\n" in told
    claims = deployed.kube.items("/api/v1/persistentvolumeclaims")
    named = [one for one in claims if one["metadata"]["name"] == "datasets"]
    volumes = {one["metadata"]["name"]: one for one in deployed.kube.items("/api/v1/persistentvolumes")}
    handles = {volumes[one["spec"]["volumeName"]]["spec"]["csi"]["volumeHandle"] for one in named}
    assert ({one["metadata"]["namespace"] for one in named}, len(handles)) == ({NAMESPACE, TEAM}, 1)
