"""What a lost node costs: the time from its end until the gang that ran there trains elsewhere."""

from __future__ import annotations

import statistics
import time
from functools import partial

from bench import endless_gang, instance
from bench.endless_gang import Gang
from bench.figure import Figure, Measured
from tests.support.nodes import RealNode

_LOSSES = 5
_TRAINS_SECONDS = 15.0
"""How long a gang trains on the node before it is lost: it has saved."""
_GRACE_SECONDS = 50.0
"""After which Kubernetes gives a node up, at most; its default since 1.32. This cluster has no simulated nodes."""


def _lost_to_first_step(lost_after: int | None) -> Measured:
    """The whole gang is on the node that dies, like a machine without power, and ends up on the other one. At first,
    controllers and agents may be there, too."""
    nodes = {"lostAfterSeconds": lost_after} if lost_after else {}
    seconds = []
    with endless_gang.running(interruption_minutes=1, nodes=2, settings={"nodes": nodes} if nodes else {}) as gang:
        first, second = (RealNode(instance.BENCH, number) for number in (1, 2))
        for _ in range(_LOSSES):
            _move(gang, away_from=first)
            time.sleep(_TRAINS_SECONDS)
            lost = time.time()
            second.kill(stays_dead=True)
            begun = gang.wait_for_start(after=lost)
            seconds.append(begun.first_step - lost)
            print(f"node lost: first step elsewhere after {seconds[-1]:.1f} s", flush=True)
            second.revive()
            second.until(gang.kube, ready=True)
    given_up = f"nodes.lostAfterSeconds {lost_after}" if lost_after else f"Kubernetes' grace, {_GRACE_SECONDS:.0f} s"
    return Measured(
        statistics.median(seconds),
        f"median of {_LOSSES} losses, {min(seconds):.1f} to {max(seconds):.1f} s; {given_up}. Without the agent: the"
        f" grace, 300 s, and then until somebody deletes the node",
    )


def _move(gang: Gang, *, away_from: RealNode) -> None:
    """Restarts the gang where it gets no pods on a node."""
    with away_from.closed(gang.kube):
        gang.wait_for_start(after=gang.kill(0))


FIGURES = (
    Figure("lost-node", "<= 80", "s", partial(_lost_to_first_step, None)),
    Figure("lost-node-20", "<= 50", "s", partial(_lost_to_first_step, 20)),
)
