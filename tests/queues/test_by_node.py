"""Where Kueue places pods by their node: a job gets whole nodes, pods that must be near each other get one of them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import yaml

from tensorplane.cli.commands.why import command as why
from tensorplane.components.base.labels import HOSTNAME, QUEUE_LABEL
from tensorplane.components.base.model import Resources
from tensorplane.components.queues import topology
from tensorplane.components.queues.capacity import PodSet
from tests.queues.docs_job import BLOCK, UNCONSTRAINED, asking
from tests.queues.jobs import Jobs, workers
from tests.queues.placed import H100, QUEUES
from tests.support.waiting import eventually

pytestmark = pytest.mark.nightly("queues of its own, and dozens of jobs that wait for nodes")
TOGETHER = topology.annotations(HOSTNAME, required=True)
_CLASS = "batch"
"""The queue whose priority class these queues' jobs have."""


@pytest.fixture(scope="module")
def by_node(jobs: Jobs) -> Iterator[None]:
    """The queues."""
    with jobs.queues(QUEUES, levels=(HOSTNAME,)):
        yield


@pytest.fixture
def placed(by_node: None, queues: Jobs) -> Jobs:
    """They, with no jobs."""
    return queues


def test_a_pod_gets_the_kind_whose_nodes_hold_it(placed: Jobs) -> None:
    job = asking(8, queue="whole")
    job["metadata"]["namespace"] = placed.stack
    placed.api.create(job, manager="test")
    eventually(lambda: len(placed.nodes("sweep")) == 1)
    assert placed.nodes("sweep")[0].startswith("hopper")


def test_the_job_set_of_the_docs_runs_as_it_is_written(placed: Jobs) -> None:
    job = yaml.safe_load(BLOCK)
    job["metadata"] |= {"namespace": placed.stack, "labels": {QUEUE_LABEL: "whole"}}
    placed.api.create(job, manager="test")
    eventually(lambda: placed.running()["sweep"] == 2)


def test_a_pod_that_finds_fragments_holds_nothing_until_a_node_is_whole(placed: Jobs) -> None:
    for number in range(4):
        placed.create(f"part-{number}", "whole", [workers(1, 4, card=H100)], near=UNCONSTRAINED, priority=_CLASS)
    eventually(lambda: all(placed.nodes(f"part-{number}") for number in range(4)))
    # Kueue fills node by node: two are full. One part of each goes.
    first, second = (next(n for n in range(4) if placed.nodes(f"part-{n}") == [node]) for node in _both(placed))
    for number in (first, second):
        placed.delete(f"part-{number}")
    eventually(lambda: len(placed.observed()) == 2)
    for number in range(2):
        placed.create(f"apart-{number}", "apart", [workers(1, 8, card=H100)], near=UNCONSTRAINED, priority=_CLASS)
    eventually(lambda: all(placed.nodes(f"apart-{number}") for number in range(2)))
    # Of 16 GPUs in the queue's quota 8 are free: 4 on each of two nodes.
    placed.create("large", "whole", [workers(1, 8, card=H100)], near=UNCONSTRAINED, priority=_CLASS)

    eventually(lambda: "no nodes have" in str(why.ask(placed.kube, placed.stack, "large", {}).lines))
    assert placed.observed()["large"].given == {}
    # The end of a job that shares no quota with it is seen, too.
    placed.delete("apart-0")
    eventually(lambda: len(placed.nodes("large")) == 1)


def _both(jobs: Jobs) -> list[str]:
    nodes = sorted({node for number in range(4) for node in jobs.nodes(f"part-{number}")})
    assert len(nodes) == 2
    return nodes


def test_a_pod_without_gpus_needs_no_node_with_them(placed: Jobs) -> None:
    small = PodSet("chief", 1, Resources(cpus=0.05, memory_gib=0.05), together=False, interruptible=True)
    placed.admitted("plain", "whole", [small], priority=_CLASS)
    assert set(placed.observed()["plain"].given.values()) == {"cpu"}


def test_pods_that_must_be_on_one_node_are(placed: Jobs) -> None:
    names = ("one", "two", "three")
    for name in names:
        placed.create(name, "near", [workers(4, 2, card=H100)], priority=_CLASS, near=TOGETHER)
    eventually(lambda: all(len(placed.nodes(name)) == 4 for name in names))
    assert {name: len(set(placed.nodes(name))) for name in names} == dict.fromkeys(names, 1)


def test_a_job_waits_where_its_pods_fit_but_not_on_one_node(placed: Jobs) -> None:
    # Five GPUs of each node: twelve are left in all, and three on each.
    for number in range(4):
        placed.create(f"large-{number}", "near", [workers(1, 5, card=H100)], priority=_CLASS, near=TOGETHER)
    eventually(lambda: all(placed.nodes(f"large-{number}") for number in range(4)))
    placed.create("split", "near", [workers(2, 2, card=H100)], priority=_CLASS, near=TOGETHER)
    eventually(lambda: "split" in placed.observed())
    placed.create("spread", "near", [workers(2, 2, card=H100)], priority=_CLASS, near=UNCONSTRAINED)
    eventually(lambda: len(placed.nodes("spread")) == 2)
    assert placed.observed()["split"].given == {}
    placed.delete("large-0")
    eventually(lambda: len(placed.nodes("split")) == 2)
    assert len(set(placed.nodes("split"))) == 1


# LOOK
