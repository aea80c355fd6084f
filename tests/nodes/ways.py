"""How a node is lost, and how it comes back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tests.nodes.run import go_on, pause
from tests.support.nodes import Direction, RealNode

Undo = Callable[[], None]


@dataclass(frozen=True)
class Way:
    """What happens to a node."""

    strike: Callable[[RealNode], Undo]
    """Does it at once; what undoes it."""
    answers: bool = False
    """Whether its kubelet sends heartbeats: it is not lost, and Kubernetes evicts its pods only after five minutes."""


def _dies(node: RealNode) -> Undo:
    node.kill(stays_dead=True)
    return node.revive


def _kubelet(node: RealNode) -> Undo:
    node.stop()
    return node.cont


def _containerd(node: RealNode) -> Undo:
    node.kill("containerd", stays_dead=True)
    return lambda: node.revive("containerd")


def _stands(node: RealNode) -> Undo:
    """As a virtual machine that is paused: all of its processes, with the files that they have open."""
    paused: set[int] = set()
    while new := node.pids - paused:
        pause(new)
        paused |= new
    return lambda: go_on(paused)


def _cut(direction: Direction) -> Callable[[RealNode], Undo]:
    def cut(node: RealNode) -> Undo:
        node.cut(direction)
        return node.mend

    return cut


WAYS = {
    "dies": Way(_dies),
    "stands still": Way(_stands),
    "kubelet stopped": Way(_kubelet),
    "hears nothing": Way(_cut("in")),
    "is not heard": Way(_cut("out")),
    "cut off": Way(_cut("both")),
    "containerd dead": Way(_containerd, answers=True),
}
