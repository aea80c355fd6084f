"""Admitted jobs that cannot start return their quota, and run once they can: the program in its pod, Kueue, a team."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime

import pytest

from agents.quota_return.record import REASON
from cli.commands.why import query
from components import versions
from components.base.labels import ACCELERATOR, COMPONENT, FLAVOR, NO_ACCELERATOR
from components.queues.quota_return import ACCOUNT
from embedded.cluster import processes
from embedded.cluster.image_store import ImageStore
from embedded.cluster.places import Places
from embedded.paths import Instance
from embedded.provider.api import GVK
from embedded.step import Step
from tests.queues.jobs import WORKLOADS, Jobs, Object, workers
from tests.queues.test_admission import TEAM, example, template_of
from tests.support.waiting import eventually

T4 = "t4"
_ALL = [workers(4, 4, card=T4)]
"""All of that kind that queue research may hold."""
_DEPLOYMENT = GVK("apps", "v1", "Deployment")
_NODE = GVK("", "v1", "Node")
# More than pods ever take to start here: a job that gets its nodes must not be taken for one that cannot start.
_QUICK = {"SECONDS_TO_START": "15", "SECONDS_TO_TRY_AGAIN": "3", "SECONDS_BETWEEN_LOOKS": "1"}
_EMBEDDED = {"name": "NODES_ARE_ADDED", "value": "false"}


@pytest.fixture(scope="module")
def quick(jobs: Jobs, fleet_instance: Instance) -> Iterator[None]:
    """The program, in seconds instead of minutes."""
    alive = processes.find(fleet_instance)
    assert alive
    ImageStore(Places(fleet_instance), alive).load((versions.EMBEDDED_IMAGES.python,), Step("Python's image"))
    _restart(jobs, _QUICK)
    yield
    _set(jobs, [{"name": name, "$patch": "delete"} for name in _QUICK] + [_EMBEDDED])


def _restart(jobs: Jobs, env: dict[str, str]) -> None:
    """The program with these variables, when it runs."""
    _set(jobs, [{"name": name, "value": value} for name, value in env.items()])
    eventually(lambda: _is_ready(jobs, env))


def _set(jobs: Jobs, env: list[dict[str, str]]) -> None:
    pod = {"containers": [{"name": "main", "env": env}]}
    body = {"spec": {"template": {"spec": pod}}}
    kind = "application/strategic-merge-patch+json"
    jobs.api.patch(_DEPLOYMENT, ACCOUNT, jobs.stack, body, manager="test", content_type=kind)


def _is_ready(jobs: Jobs, env: dict[str, str]) -> bool:
    """Whether the program runs with these variables, and none that had others is left."""
    pods = jobs.kube.items(f"/api/v1/namespaces/{jobs.stack}/pods", labelSelector=f"{COMPONENT}=quota-return")
    return len(pods) == 1 and all(
        env.items() <= {one["name"]: one["value"] for one in pod["spec"]["containers"][0]["env"]}.items()
        and any(each["type"] == "Ready" and each["status"] == "True" for each in pod["status"].get("conditions", ()))
        for pod in pods
    )


@pytest.fixture
def impatient(quick: None, queues: Jobs) -> Jobs:
    """Such queues, with no jobs."""
    return queues


def _workload(jobs: Jobs, name: str) -> Object:
    (found,) = (one for one in jobs.kube.items(WORKLOADS) if one["metadata"]["ownerReferences"][0]["name"] == name)
    return found


def _returned(jobs: Jobs, name: str) -> str:
    """Why a job has returned its quota; nothing where it holds it."""
    if name not in jobs.seen() or jobs.holds_quota(name):
        return ""
    return str(_workload(jobs, name)["metadata"].get("annotations", {}).get(REASON, ""))


def test_a_job_whose_pods_are_refused_lets_others_start_and_runs_once_they_are_taken(impatient: Jobs) -> None:
    jobs = impatient
    waits = example(name="pulls")
    container = template_of(waits)["spec"]["containers"][0]
    container |= {"image": "nothing.test/at-all:1", "resources": {"requests": {"cpu": "50m", "memory": "16Mi"}}}
    template_of(waits)["spec"]["nodeSelector"] = {ACCELERATOR: NO_ACCELERATOR}
    jobs.api.create(waits, manager="test")
    eventually(lambda: jobs.running()["pulls"] == 2)
    # Of all that are refused, this is the refusal that no policy of the stack's foresees.
    quota = {"name": "none", "namespace": TEAM}
    jobs.api.create(
        {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": quota, "spec": {"hard": {"count/pods": "2"}}},
        manager="test",
    )
    eventually(lambda: "hard" in jobs.api.get(GVK("", "v1", "ResourceQuota"), "none", TEAM).get("status", {}))
    try:
        jobs.create("refused", "research", _ALL, namespace=TEAM)
        eventually(lambda: jobs.holds_quota("refused"))
        jobs.create("next", "research", _ALL, namespace="speech")
        eventually(lambda: jobs.running()["next"] == 4)
        reason = str(_workload(jobs, "refused")["metadata"]["annotations"][REASON])
        assert reason.startswith("its pods are refused: exceeded quota: none")
        told = query.ask(jobs.kube, jobs.stack, f"{TEAM}/refused", {})
        assert "exceeded quota: none" in f"{told.verdict} {told.lines}"
        # It has waited longer, for an image.
        assert jobs.holds_quota("pulls")
    finally:
        jobs.api.delete(GVK("", "v1", "ResourceQuota"), "none", TEAM)
    jobs.delete("next", "speech")
    eventually(lambda: jobs.running()["refused"] == 4)
    eventually(lambda: REASON not in _workload(jobs, "refused")["metadata"].get("annotations", {}))


@pytest.fixture
def without_nodes(impatient: Jobs) -> Iterator[Callable[[], None]]:
    """No node of that kind takes pods until this is called."""
    jobs = impatient
    nodes = [node["metadata"]["name"] for node in jobs.kube.items("/api/v1/nodes", labelSelector=f"{FLAVOR}={T4}")]
    assert len(nodes) == 4

    def cordon(unschedulable: bool | None) -> None:
        for node in nodes:
            jobs.api.patch(_NODE, node, None, {"spec": {"unschedulable": unschedulable}}, manager="test")

    cordon(True)
    yield lambda: cordon(None)
    cordon(None)


def test_where_nothing_adds_nodes_a_job_without_one_returns_its_quota(
    impatient: Jobs, without_nodes: Callable[[], None]
) -> None:
    impatient.create("homeless", "research", _ALL, namespace=TEAM)
    eventually(lambda: "nodes are available" in _returned(impatient, "homeless"))
    without_nodes()
    eventually(lambda: impatient.running()["homeless"] == 4)


def test_where_nodes_are_added_a_job_waits_for_one_until_its_autoscaler_says_no(
    impatient: Jobs, without_nodes: Callable[[], None]
) -> None:
    jobs = impatient
    _restart(jobs, _QUICK | {"NODES_ARE_ADDED": "true"})
    jobs.create("homeless", "research", _ALL, namespace=TEAM)
    waiting = eventually(lambda: len(found := _unschedulable(jobs)) == 4 and found) or []
    _say(jobs, waiting[0], "pod didn't trigger scale-up: 1 max node group size reached")
    eventually(lambda: "max node group size reached" in _returned(jobs, "homeless"))
    without_nodes()
    eventually(lambda: jobs.running()["homeless"] == 4)


def _unschedulable(jobs: Jobs) -> list[Object]:
    pods = jobs.kube.items(f"/api/v1/namespaces/{TEAM}/pods")
    reasons = {"PodScheduled": "Unschedulable"}.items()
    return [
        pod
        for pod in pods
        if reasons <= {c["type"]: c.get("reason") for c in pod["status"].get("conditions", ())}.items()
    ]


def _say(jobs: Jobs, pod: Object, message: str) -> None:
    """As the cluster autoscaler does."""
    about, now = pod["metadata"], datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    event = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"generateName": f"{about['name']}.", "namespace": about["namespace"]},
        "involvedObject": {"kind": "Pod", "name": about["name"], "namespace": about["namespace"], "uid": about["uid"]},
        "reason": "NotTriggerScaleUp",
        "message": message,
        "type": "Normal",
        "source": {"component": "cluster-autoscaler"},
        "firstTimestamp": now,
        "lastTimestamp": now,
        "count": 1,
    }
    jobs.api.create(event, manager="test")
