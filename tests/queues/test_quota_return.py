"""Admitted jobs that cannot start return their quota, and run once they can: the program in its pod, Kueue, a team."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime

import pytest

from tensorplane.agents.quota_return.state import RETURN_REASON
from tensorplane.cli.commands.why import command as why
from tensorplane.components.base.labels import ACCELERATOR, FLAVOR, NO_ACCELERATOR
from tensorplane.components.queues.quota_return import ACCOUNT
from tensorplane.core.gvk import GVK
from tests.queues import agents
from tests.queues.docs_job import TEAM, example, template_of
from tests.queues.jobs import Jobs, Object, workers
from tests.queues.limits import limited
from tests.support.simulated import Simulated
from tests.support.waiting import eventually

T4 = "t4"
_ALL = [workers(4, 4, card=T4)]
"""All of that kind that queue research may hold."""
_NODE = GVK("", "v1", "Node")
# Who gets its nodes later than that returns its quota once more, and is tried again.
_QUICK = {"SECONDS_TO_START": "5", "SECONDS_TO_TRY_AGAIN": "3", "SECONDS_BETWEEN_LOOKS": "1"}


@pytest.fixture(params=["false"], ids=["none added"])
def impatient(request: pytest.FixtureRequest, queues: Jobs, fleet: Simulated) -> Iterator[Jobs]:
    """Queues with the program, in seconds instead of minutes. The parameter: whether anything adds nodes."""
    with agents.running(queues, fleet, ACCOUNT, _QUICK | {"NODES_ARE_ADDED": request.param}):
        yield queues


def _returned(jobs: Jobs, name: str) -> str:
    """Why a job has returned its quota; nothing where it holds it."""
    if name not in jobs.observed() or jobs.holds_quota(name):
        return ""
    return str(_annotations(jobs, name).get(RETURN_REASON, ""))


def _annotations(jobs: Jobs, name: str) -> Object:
    found: Object = jobs.workload(name)["metadata"].get("annotations", {})
    return found


def test_a_job_whose_pods_are_refused_lets_others_start_and_runs_once_they_are_taken(impatient: Jobs) -> None:
    jobs = impatient
    waits = example(name="pulls")
    container = template_of(waits)["spec"]["containers"][0]
    container |= {"image": "nothing.test/at-all:1", "resources": {"requests": {"cpu": "50m", "memory": "16Mi"}}}
    template_of(waits)["spec"]["nodeSelector"] = {ACCELERATOR: NO_ACCELERATOR}
    jobs.api.create(waits, manager="test")
    eventually(lambda: jobs.running()["pulls"] == 2)
    # Of all that are refused, this is the refusal that no policy of the stack's foresees.
    with limited(jobs, "none", count_pods="2"):
        jobs.admitted("refused", "research", _ALL, namespace=TEAM)
        jobs.admitted("next", "research", _ALL, namespace="speech")
        reason = str(_annotations(jobs, "refused")[RETURN_REASON])
        assert reason.startswith("its pods are refused: exceeded quota: none")
        told = why.ask(jobs.kube, jobs.stack, f"{TEAM}/refused", {})
        assert "exceeded quota: none" in f"{told.conclusion} {told.lines}"
        assert "limited: count/pods=2" in f"{told.conclusion} {told.lines}"
        # It has waited longer, for an image.
        assert jobs.holds_quota("pulls")
    jobs.delete("next", "speech")
    eventually(lambda: jobs.running()["refused"] == 4)
    eventually(lambda: RETURN_REASON not in _annotations(jobs, "refused"))


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


@pytest.mark.nightly("another reason of the same program, which its unit tests decide")
def test_where_nothing_adds_nodes_a_job_without_one_returns_its_quota(
    impatient: Jobs, without_nodes: Callable[[], None]
) -> None:
    impatient.create("homeless", "research", _ALL, namespace=TEAM)
    eventually(lambda: "nodes are available" in _returned(impatient, "homeless"))
    without_nodes()
    eventually(lambda: impatient.running()["homeless"] == 4)


@pytest.mark.nightly("another reason of the same program, which its unit tests decide")
@pytest.mark.parametrize("impatient", ["true"], indirect=True, ids=["some added"])
def test_where_nodes_are_added_a_job_waits_for_one_until_its_autoscaler_says_no(
    impatient: Jobs, without_nodes: Callable[[], None]
) -> None:
    jobs = impatient
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
