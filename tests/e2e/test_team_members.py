"""A team's member with the team's credentials alone: runs, watches and stops jobs; everything else is denied."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import yaml
from kubernetes import client, config

from driver import linked_project
from embedded.paths import PROJECT
from embedded.step import Step
from tests.e2e.conftest import Deployed

NAMESPACE, TEAM = "tensorplane-teams", "vision"
SETTINGS = f"""
config:
  tensorplane:namespace: {NAMESPACE}
  tensorplane:controllers: {{kueue: present, jobset: present}}
  tensorplane:queues:
    research: {{cpus: 0.5, memoryGib: 1, teams: [{TEAM}]}}
    closed: {{cpus: 0.1, memoryGib: 0.1}}
  tensorplane:teams:
    {TEAM}: {{retain: false, members: ["user:ada"]}}
"""
_LIMIT_SECONDS = 120


@dataclass(frozen=True)
class Member:
    """Somebody with a folder and a kubeconfig."""

    folder: Path
    kubeconfig: Path

    def __call__(self, *words: str, code: int = 0) -> str:
        program = f"import sys; sys.path.insert(0, {str(PROJECT)!r}); from cli.__main__ import main; sys.exit(main())"
        environment = {**os.environ, "KUBECONFIG": str(self.kubeconfig)}
        done = subprocess.run(
            [sys.executable, "-P", "-c", program, words[0], "--team", TEAM, *words[1:]],
            cwd=self.folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=_LIMIT_SECONDS,
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout + done.stderr


@pytest.fixture(scope="module")
def member(deployed: Deployed, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Member]:
    folder = tmp_path_factory.mktemp("member")
    named = replace(deployed.stack, settings=replace(deployed.stack.settings, name="teams"))
    stack = linked_project.with_settings(named, folder / "project", SETTINGS)
    stack.prepare(Step("prepare"))
    stack.up(Step("pulumi up"))
    home = folder / "home"
    home.mkdir()
    (home / "train.py").write_text("print('trained', flush=True)")
    kubeconfig = folder / "kubeconfig"
    kubeconfig.write_bytes(_issued(deployed))
    yield Member(home, kubeconfig)


def _issued(deployed: Deployed) -> bytes:
    from components.queues import members
    from embedded.cluster import kubeconfig
    from embedded.cluster.places import Places

    keys = Places(deployed.instance).keys
    return kubeconfig.of_member(deployed.instance, keys, TEAM, members.group(NAMESPACE, TEAM), TEAM)


_SMALL = ("--queue", "research", "--cpus", "0.1", "--memory-gib", "0.25")


def test_a_member_runs_watches_and_stops_jobs(member: Member) -> None:
    told = member("run", *_SMALL, "--", "python", "train.py")
    run = re.findall(r"^(train-\w+): submitted to vision: 1 pod", told, re.MULTILINE)[0]
    assert "\ntrained\n" in told
    assert told.rstrip().endswith(f"{run}: finished")
    assert re.search(rf"^{run} +finished", member("jobs"), re.MULTILINE)
    assert member("logs", run) == "trained\n"
    assert "finished" in member("why", run)
    assert "python3 train.py" in member("describe", run)
    waiting = member("run", *_SMALL, "--name", "long", "--detach", "--", "python", "-c", "import time; time.sleep(999)")
    assert "cancelled" in member("cancel", waiting.partition(":")[0])


def test_another_queue_or_volume_is_refused_in_one_line(member: Member) -> None:
    job = ("--", "python", "train.py")
    assert member("run", "--queue", "closed", *job, code=1) == (
        "--queue: closed is no queue of team vision; choose one of research\n"
    )
    assert "--queue: missing, and a team's jobs wait in a queue; choose one of research" in member("run", *job, code=1)
    assert member("run", *_SMALL, "--volume", "models:/models", *job, code=1).startswith("--volume: ")


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
