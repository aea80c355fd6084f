"""A real embedded cluster for tests: an instance in a home of its own, always stopped and deleted at the end."""

from __future__ import annotations

import contextlib
import math
import os
from collections.abc import Iterator
from pathlib import Path

from tensorplane import images, toolchain
from tensorplane.core.step import Step
from tensorplane.embedded import cluster
from tensorplane.embedded.cluster import cgroups
from tensorplane.embedded.cluster.lock import only_one
from tensorplane.embedded.instance import Instance


@contextlib.contextmanager
def own_home(folder: Path, name: str = "test") -> Iterator[Instance]:
    """The instance `name` with everything of it below `folder`; whatever an earlier, killed run left is ended first.

    Programs that a test starts find the same instance: its places are in the environment. Tests of several checkouts
    run side by side where each has another TENSORPLANE_TESTS (-2, -3).
    """
    name += os.environ.get("TENSORPLANE_TESTS", "")
    ours = {"XDG_STATE_HOME": str(folder), "TENSORPLANE_INSTANCE": name}
    before = {key: os.environ.get(key) for key in (*ours, "TENSORPLANE_HOME")}
    os.environ.pop("TENSORPLANE_HOME", None)
    os.environ.update(ours)
    instance = Instance(name)
    try:
        # Another run of the tests on this machine has the same instance: the later one waits until it has ended.
        with only_one(instance, timeout=math.inf, use="testing"):
            cluster.stop(instance)
            try:
                yield instance
            finally:
                cluster.remove(instance)
    finally:
        for key, value in before.items():
            os.environ.pop(key, None)
            if value is not None:
                os.environ[key] = value


@contextlib.contextmanager
def running(
    folder: Path, name: str = "test", *, simulated_nodes: bool = False, storage: bool = False, nodes: int = 1
) -> Iterator[Instance]:
    """The same, started: nodes Ready, DNS answering, images of add-ons not loaded yet."""
    with own_home(folder, name) as instance:
        # In the cache already, unless this test is run alone.
        tools = toolchain.tasks(cluster=True, pulumi=False, simulated_nodes=simulated_nodes, storage=storage)
        for task in (*tools, *images.tasks()):
            if task.name in ("debian packages", "csi", "kwok", "gpu charts", "image add-ons"):
                task.run(Step(task.name))
        cluster.start(instance, Step("cluster"), simulated_nodes=simulated_nodes, storage=storage, nodes=nodes)
        _prefer(instance)
        yield instance


def _prefer(instance: Instance) -> None:
    """Four times the default weight for the cluster's processes, beside those of the other groups of tests.

    In a container each program may be a peer of the whole cluster. Beside dozens of them, Kueue cannot renew its lease
    in time and ends, and nothing answers at its webhooks.
    """
    for folder in cgroups.folders(instance):
        for file, weight in (("cpu.shares", "4096"), ("cpu.weight", "400")):
            if (folder / file).exists():
                (folder / file).write_text(weight)
