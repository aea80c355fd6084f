"""Nodes that are lost at drawn moments, in drawn ways, with all kinds of pods: no run is lost, no byte is wrong."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from tests.nodes import busy
from tests.nodes.busy import GANG, SERVER, SPREAD, Busy
from tests.nodes.drawn import Drawn
from tests.nodes.loss import Loss
from tests.nodes.watched import KNOWN_SECONDS, Watched, watched
from tests.nodes.ways import WAYS
from tests.support import cluster_fixture, counts

pytestmark = [pytest.mark.counted, pytest.mark.nightly("two minutes for each loss on two nodes")]
SEED = counts.seed()
LOSSES = counts.of(quick=2, nightly=100)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Busy]:
    """The stack, and its first runs, which nobody disturbs."""
    with cluster_fixture.running(tmp_path_factory.mktemp("state"), "e2e", storage=True, nodes=2) as instance:
        yield Busy.on(instance, tmp_path_factory.mktemp("dev"))


def _drawn(number: int) -> Drawn:
    """All ways come equally often, in an order of the seed."""
    ways = sorted(WAYS)
    random.Random(SEED).shuffle(ways)
    return Drawn.of(random.Random(f"{SEED} {number}"), ways[number % len(ways)])


@pytest.mark.parametrize("number", range(1, LOSSES + 1))
def test_a_lost_node_costs_no_run_no_byte_and_no_request(made: Busy, number: int) -> None:
    loss = Loss(made, _drawn(number), number)
    made.move(f"app.kubernetes.io/name={SERVER}", loss.second, away_from=loss.first)
    made.have_act(loss.second if loss.drawn.agent else loss.first)
    loss.tell("placed")
    try:
        loss.begin()
        with watched(made, loss.second.name) as seen:
            loss.happen()
        loss.tell(str(seen))
        _check(loss, seen)
    finally:
        print(loss, flush=True)
        loss.end()


def _check(loss: Loss, seen: Watched) -> None:
    whole = {job: run.content() for job, run in loss.made.first.items()}
    for job, run in loss.runs.items():
        status = run.job_set()["status"]
        assert run.ended() == "finished", f"{loss}: {run.log()}"
        # A runtime that is back does not know how what has ended meanwhile did.
        counts_none = not status.get("restartsCountTowardsMax")
        assert counts_none or WAYS[loss.drawn.way].answers, f"{loss}: {status}"
        assert len(run.versions()) == 1, f"{loss}: {run.versions()}"
        assert run.gates() == [], str(loss)
        assert run.writers == [run.writer], str(loss)
        # The order of asynchronous gradients is the machine's.
        assert run.content() == whole[job] if job == GANG else run.content().keys() == whole[job].keys(), str(loss)
    assert seen.faults == [], str(loss)
    assert seen.most_cpus <= sum(map(busy.cpus, (GANG, SPREAD))) + 0.001, f"{loss}: {seen.most_cpus}"
    assert seen.doubled == set(), str(loss)
    assert seen.lost(KNOWN_SECONDS) == [], f"{loss}: known {seen.known}, left {seen.left}: {seen.lost(0)}"
