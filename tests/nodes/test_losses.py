"""Nodes that are lost at drawn moments, in drawn ways, while a gang trains there: the run ends as if nothing happened.

What is lost is the second node: the first one has the control plane.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator

import pytest

from tests.nodes.trained import Trained
from tests.support import cluster_fixture, counts
from tests.support.nodes import Direction, RealNode
from tests.support.waiting import eventually

pytestmark = [pytest.mark.counted, pytest.mark.nightly("minutes for each run on two nodes, whose gang trains thrice")]
SEED = counts.seed()
RUNS = counts.of(quick=1, nightly=40)
LOSSES = 3
"""In each run."""
STEPS = 12_000


def _end(node: RealNode) -> Callable[[], None]:
    node.kill(stays_dead=True)
    return node.revive


def _stop(node: RealNode) -> Callable[[], None]:
    node.stop()
    return node.cont


def _cut(direction: Direction) -> Callable[[RealNode], Callable[[], None]]:
    def cut(node: RealNode) -> Callable[[], None]:
        node.cut(direction)
        return node.mend

    return cut


WAYS = {
    "dies": _end,
    "kubelet stopped": _stop,
    "hears nothing": _cut("in"),
    "is not heard": _cut("out"),
    "cut off": _cut("both"),
}
"""What happens to the node; each returns what undoes it."""


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trained]:
    """The stack with its controllers on the first node, and its first run, which nobody disturbs."""
    with cluster_fixture.running(tmp_path_factory.mktemp("state"), "e2e", storage=True, nodes=2) as instance:
        made = Trained.on(instance, tmp_path_factory.mktemp("dev"))
        with RealNode(instance, 2).closed(made.kube):
            made.start(0, STEPS)
        made.finish()
        yield made


def _lose(trained: Trained, chance: random.Random, told: list[str]) -> None:
    """Lose the node with a part of the gang once, at a drawn step or in its start, and let it come back."""
    first, second = (RealNode(trained.instance, number) for number in (1, 2))
    trained.bring(second, away_from=first)
    begun = trained.step()
    after = chance.choice([0, 0, 1, chance.randrange(STEPS // 3)])
    eventually(lambda: trained.is_over() or trained.step() >= min(begun + after, STEPS))
    if trained.is_over() or not trained.is_on(second):
        return
    way = chance.choice(list(WAYS))
    told.append(f"{way} after step {trained.step()}")
    before = {each["metadata"]["uid"] for each in trained.pods()}
    undo = WAYS[way](second)
    try:
        # Its gang is elsewhere, or over: one that had computed its last step may end without it.
        eventually(lambda: trained.is_over() or not before & {each["metadata"]["uid"] for each in trained.pods()})
        time.sleep(chance.choice([0, 0, 20]))
    finally:
        undo()
    second.until(trained.kube, ready=True)


def test_runs_end_as_undisturbed_ones_whatever_becomes_of_a_node(trained: Trained) -> None:
    chance = random.Random(SEED)
    whole = trained.versions()["1"]
    assert len(whole) > 5
    for run in range(1, RUNS + 1):
        told: list[str] = []
        trained.start(run, STEPS)
        for _ in range(LOSSES):
            _lose(trained, chance, told)
        trained.finish()
        versions = trained.versions()
        assert sorted(versions, key=int)[-1] == str(run + 1), f"seed {SEED}: {told}: {sorted(versions)}"
        assert versions[str(run + 1)] == whole, f"seed {SEED}: {told}"
        print(f"run {run}: {'; '.join(told) or 'it ended before a node was lost'}", flush=True)
