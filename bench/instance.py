"""The `bench` cluster: for one measurement at a time, created from scratch, and always removed afterwards."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench import quiet, waiting
from tensorplane.core.errors import UserError
from tensorplane.core.kube import Kube
from tensorplane.core.step import Step
from tensorplane.driver import watch
from tensorplane.driver.target import Target
from tensorplane.driver.update.stack import Stack, open_stack
from tensorplane.driver.watch import Outputs
from tensorplane.embedded import cluster
from tensorplane.embedded.cluster import processes
from tensorplane.embedded.cluster.lock import only_one
from tensorplane.embedded.cluster.node_paths import NodePaths
from tensorplane.embedded.instance import Instance

BENCH = Instance("bench")
_CONTROLLERS = ("kueue-system", "jobset-system")
_READY_SECONDS = 120


@dataclass(frozen=True)
class Running:
    """The started cluster and the dev stack on it."""

    kube: Kube
    stack: Stack

    def deploy(self) -> Outputs:
        """The dev stack, its model trained and served."""
        self._update(self.stack)
        outputs = Outputs.of(self.stack.outputs())
        watch.wait_for_training(self.kube, outputs, Step("training"))
        watch.wait_for_serving(self.kube, outputs, Step("serving"))
        return outputs

    def deploy_with(self, settings: str, folder: Path) -> Stack:
        """Deploys the stack with other settings through a folder of links; does not wait for workloads."""
        stack = self.stack.with_settings(folder, settings)
        self._update(stack)
        return stack

    def _update(self, stack: Stack) -> None:
        step = Step("pulumi up")
        stack.prepare(step)
        stack.up(step)

    def wait_for_controllers(self) -> None:
        """Waits until the pods of Kueue and JobSet are Ready again; etcd also has their state of before the stop."""
        waiting.until(
            lambda: all(self._ready(namespace) for namespace in _CONTROLLERS),
            _READY_SECONDS,
            lambda: "Kueue and JobSet: not Ready",
        )

    def _ready(self, namespace: str) -> bool:
        pods = self.kube.items(f"/api/v1/namespaces/{namespace}/pods")
        conditions = [c for pod in pods for c in pod["status"].get("conditions", []) if c["type"] == "Ready"]
        return all(condition["status"] == "True" for condition in conditions)


def remove() -> None:
    """Stops the cluster and deletes its data, also after a killed measurement; never another user's."""
    alive = processes.find(BENCH)
    home = alive.identity(NodePaths(BENCH)).get("home") if alive else None
    if home and home != str(BENCH.home):
        raise UserError(
            f"cluster {BENCH.name}: runs with its data in {home}, so another user started it; stop it there"
        )
    cluster.remove(BENCH)
    shutil.rmtree(BENCH.stacks, ignore_errors=True)


@contextmanager
def fresh() -> Iterator[None]:
    """Removes the cluster before and after the block."""
    remove()
    try:
        yield
    finally:
        remove()


@contextmanager
def running(*, simulated_nodes: bool = False, nodes: int = 1) -> Iterator[Running]:
    """A new cluster of so many real nodes with every image, and nothing deployed."""
    with fresh():
        start(simulated_nodes=simulated_nodes, nodes=nodes)
        cluster.load_images(BENCH, Step("load images"))
        yield Running(Kube.of(BENCH.kubeconfig), open_stack(Target("", BENCH)))


def start(*, simulated_nodes: bool = False, nodes: int | None = None) -> None:
    """Starts it as `make up` does, with its data, and with the nodes that it had if none are stated."""
    cluster.start(BENCH, Step("cluster"), simulated_nodes=simulated_nodes, storage=True, nodes=nodes)


def stop() -> None:
    """Stops it; its data stays."""
    cluster.stop(BENCH)


def settle(seconds: float) -> None:
    """Waits until what was started is idle."""
    quiet.wait_for_idle_processors()
    time.sleep(seconds)


def alone() -> AbstractContextManager[None]:
    """Keeps a second `make bench` from removing the first one's cluster."""
    return only_one(BENCH, timeout=0, use="measuring on")
