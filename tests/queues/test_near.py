"""Pods that must be near to each other: Kueue puts them onto one node, or the job waits until there is room on one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from components.base.labels import HOSTNAME
from components.queues import QueueArgs, topology
from tests.queues.jobs import Jobs, workers
from tests.support.waiting import eventually

CARD = "h100-80gb"
"""Four nodes of eight GPUs."""
TOGETHER = topology.annotations(HOSTNAME, required=True)


@pytest.fixture(scope="module")
def near(jobs: Jobs) -> Iterator[None]:
    """A queue of its own, whose pods Kueue places by their node."""
    with jobs.queues({"near": QueueArgs(gpus={CARD: 32})}, levels=(HOSTNAME,)):
        yield


@pytest.fixture
def placed(near: None, queues: Jobs) -> Jobs:
    """It, with no jobs."""
    return queues


def _nodes(jobs: Jobs, name: str) -> list[str]:
    return [pod["spec"]["nodeName"] for pod in jobs.pods(name)]


def test_pods_that_must_be_on_one_node_are(placed: Jobs) -> None:
    for name in ("one", "two", "three"):
        placed.create(name, "near", [workers(4, 2, card=CARD)], priority="serving", near=TOGETHER)
    for name in ("one", "two", "three"):
        eventually(lambda name=name: len(_nodes(placed, name)) == 4)  # type: ignore[misc]
        assert len(set(_nodes(placed, name))) == 1, name


def test_a_job_waits_where_its_pods_fit_but_not_on_one_node(placed: Jobs) -> None:
    # Five GPUs of each node: twelve are left in all, and three on each.
    for number in range(4):
        placed.create(f"large-{number}", "near", [workers(1, 5, card=CARD)], priority="serving", near=TOGETHER)
    eventually(lambda: all(_nodes(placed, f"large-{number}") for number in range(4)))
    placed.create("split", "near", [workers(2, 2, card=CARD)], priority="serving", near=TOGETHER)
    eventually(lambda: "split" in placed.seen())
    placed.create(
        "spread",
        "near",
        [workers(2, 2, card=CARD)],
        priority="serving",
        near=topology.annotations(None, required=False),
    )
    eventually(lambda: len(_nodes(placed, "spread")) == 2)
    assert placed.seen()["split"].given == {}
    placed.delete("large-0")
    eventually(lambda: len(_nodes(placed, "split")) == 2)
    assert len(set(_nodes(placed, "split"))) == 1
