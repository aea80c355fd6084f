"""A flavor none of whose nodes takes pods keeps no job from the GPUs that its queue is guaranteed elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qsl

import pytest

from tensorplane.agents.api import ApiServer
from tensorplane.agents.quota_return import flavors
from tensorplane.cli.commands.why import command as why
from tensorplane.cli.commands.why.answer import Answer
from tensorplane.components import versions
from tensorplane.components.base.labels import FLAVOR, HOSTNAME
from tensorplane.components.queues.settings import QueueArgs
from tensorplane.core.gvk import GVK
from tests.queues.docs_job import UNCONSTRAINED
from tests.queues.jobs import Jobs, workers
from tests.queues.placed import A100, T4
from tests.support.waiting import eventually

_CLASS = "batch"
"""The queue whose priority class these queues' jobs have."""
_NODE, _COHORT = GVK("", "v1", "Node"), GVK.parse(versions.KUEUE_API, "Cohort")
_QUEUES = {
    "first": QueueArgs(gpus={T4: 2, A100: 16}),
    "other": QueueArgs(gpus={T4: 14}, may_borrow={T4: 2}),
}


class _AsAdmin(ApiServer):
    """The API server of the test's cluster, for the agent's code without its pod."""

    def __init__(self, jobs: Jobs) -> None:
        super().__init__()
        self.__dict__["jobs"] = jobs

    jobs: Jobs

    def send(self, method: str, path: str, body: Any = None, *, content_type: str | None = None) -> Any:
        path, _, asked = path.partition("?")
        if method == "GET":
            return self.jobs.kube.get(f"/{path}", **dict(parse_qsl(asked)))
        *_, kind, name = path.split("/")
        gvk = _COHORT if kind == "cohorts" else GVK.parse(versions.KUEUE_API, "ResourceFlavor")
        return self.jobs.api.patch(gvk, name, None, body, manager="test")


@pytest.fixture
def without_a100(jobs: Jobs) -> Iterator[None]:
    """All nodes with A100 are cordoned."""
    having = jobs.kube.items("/api/v1/nodes", labelSelector=f"{FLAVOR}={A100}")

    def cordon(unschedulable: bool | None) -> None:
        for node in having:
            change = {"spec": {"unschedulable": unschedulable}}
            jobs.api.patch(_NODE, node["metadata"]["name"], None, change, manager="test")

    cordon(True)
    yield
    cordon(None)


@pytest.fixture
def cohort(jobs: Jobs) -> Iterator[str]:
    """The agent's cohort, which stacks with autoscaled groups do not have."""
    name = f"{jobs.stack}.without-nodes"
    made = {"apiVersion": versions.KUEUE_API, "kind": "Cohort", "metadata": {"name": name}}
    jobs.api.apply({**made, "spec": {"parentName": jobs.stack}}, manager="test")
    yield name
    jobs.api.delete(_COHORT, name)


def test_its_queue_gets_other_guaranteed_gpus_back_while_no_node_of_a_flavor_takes_pods(
    queues: Jobs, without_a100: None, cohort: str
) -> None:
    with queues.queues(_QUEUES, levels=(HOSTNAME,)):
        for number in range(4):
            queues.create(f"part-{number}", "other", [workers(1, 4, card=T4)], near=UNCONSTRAINED, priority=_CLASS)
        eventually(lambda: all(queues.nodes(f"part-{number}") for number in range(4)))
        queues.create("waits", "first", [workers(1, 2)], near=UNCONSTRAINED, priority=_CLASS)
        eventually(lambda: "does not pass it over yet" in " ".join(_why(queues).after))
        assert "No node of a100-80gb takes pods: ampere-0 is cordoned" in " ".join(_why(queues).after)
        assert queues.nodes("waits") == []

        flavors.reconcile(_AsAdmin(queues), _placed(queues), cohort)
        eventually(lambda: len(queues.nodes("waits")) == 1)
        assert set(queues.observed()["waits"].given.values()) == {T4}


def _why(jobs: Jobs) -> Answer:
    return why.ask(jobs.kube, jobs.stack, "waits", {})


def _placed(jobs: Jobs) -> list[str]:
    """The flavors by whose nodes Kueue places pods."""
    flavors = jobs.kube.items(f"/apis/{versions.KUEUE_API}/resourceflavors")
    return [each["metadata"]["name"] for each in flavors if each["spec"].get("topologyName")]
