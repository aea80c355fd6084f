"""The real nodes of a test's cluster, which a test can stop, kill and cut off.

```python
with cluster_fixture.running(folder, storage=True, nodes=2) as instance:
    lost = RealNode(instance, 2)
    lost.stop()         # SIGSTOP to its kubelet; its containers go on. `lost.cont()` undoes it.
    lost.cut("in")      # it hears nothing; "out": nobody hears it; "both". `lost.mend()` undoes it.
    lost.kill("containerd")          # as by kill -9; supervised as everything, it comes back after a moment
    lost.kill("containerd", stays_dead=True)     # until `lost.revive("containerd")`
    with lost.closed(kube): ...      # no pod is placed on it: what the block deploys, such as Kueue, is elsewhere
    lost.kill()         # all of its processes, mounts and network at once, as a machine without power; it starts again
    lost.kill(stays_dead=True)       # until `lost.revive()`
```

The first node has the control plane: it can be stopped, and its programs killed, but without the cluster it has no end
and no link. What a test leaves undone ends with the cluster.
"""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

from tensorplane.core.kube import Kube
from tensorplane.embedded.cluster import cgroups, processes
from tensorplane.embedded.cluster.host import run
from tensorplane.embedded.cluster.network import UPLINK
from tensorplane.embedded.cluster.node_paths import NodePaths
from tensorplane.embedded.cluster.nodes import Node
from tensorplane.embedded.cluster.processes import Alive
from tensorplane.embedded.cluster.supervisor import Supervisor
from tensorplane.embedded.instance import Instance
from tests.support.processes import is_alive
from tests.support.waiting import eventually

Program = Literal["kubelet", "containerd", "kube-proxy", "csi-driver", "kube-apiserver", "etcd"]
"""The last two are the first node's."""
Direction = Literal["in", "out", "both"]
# Before any rule that could let a packet pass.
_CUT = """
table netdev {table} {{
  chain cut {{ type filter hook ingress device {device} priority -500; policy drop; }}
}}
"""


class RealNode:
    """One of them, by its number, from 1."""

    def __init__(self, instance: Instance, number: int) -> None:
        self._first, self._at = NodePaths(instance), NodePaths(instance, number)
        self._node = Node(instance, number)
        self.name = self._node.name

    @property
    def pids(self) -> set[int]:
        """Its processes, with those of its pods; of the first node, everything's."""
        return cgroups.processes(self._node.group)

    def pid(self, program: Program) -> int:
        """The number of one of its programs on this machine."""
        [found] = self._found(program)
        return found

    def runs(self, program: Program) -> bool:
        """Whether one of its programs runs, or is paused."""
        return any(map(is_alive, self._found(program)))

    def _found(self, program: Program) -> list[int]:
        # supervisord numbers processes as its namespace does. Another node's can have the same number.
        inner = self._supervised().states()[program].pid
        deep = 2 if self._node.is_first else 3
        return [pid for pid in self.pids if processes.numbers(pid)[deep - 1 :] == [inner]]

    def path(self, inside: Path) -> Path:
        """Where this machine finds a path of the node's mount namespace."""
        return self._alive().path(inside)

    def network(self) -> tuple[str, ...]:
        """What runs a command in its network namespace, where its link to the first node is `uplink`."""
        return "nsenter", "-t", str(self._alive().pid), "-n"

    def stop(self, program: Program = "kubelet") -> None:
        """Pauses a program. Its containers do not depend on it."""
        os.kill(self.pid(program), signal.SIGSTOP)

    def cont(self, program: Program = "kubelet") -> None:
        """Lets a paused program go on where it was."""
        os.kill(self.pid(program), signal.SIGCONT)

    def cut(self, direction: Direction = "both") -> None:
        """Drops every packet of its link, connections that are open included; `in`: those to the node."""
        if direction in ("in", "both"):
            run(*self.network(), "nft", "-f", "-", stdin=_CUT.format(table=self._node.process_name, device=UPLINK))
        if direction in ("out", "both"):
            text = _CUT.format(table=self._node.process_name, device=self._node.process_name)
            run(*RealNode(self._node.instance, 1).network(), "nft", "-f", "-", stdin=text)

    def mend(self) -> None:
        """Undoes every cut. A node that has ended since has a new network."""
        own = [self.network()] if processes.find_node(self._node) else []
        for network in (*own, RealNode(self._node.instance, 1).network()):
            # Deleting what is absent would be an error.
            once = f"add table netdev {self._node.process_name}\ndelete table netdev {self._node.process_name}\n"
            run(*network, "nft", "-f", "-", stdin=once)

    def kill(self, program: Program | None = None, *, stays_dead: bool = False) -> None:
        """Ends a program, or the whole node, as by kill -9. Returns once that is gone."""
        if program:
            pid = self.pid(program)
            if stays_dead:
                # supervisord asks it to end, and must be told before it is dead, or would start it again.
                os.kill(pid, signal.SIGSTOP)
                self._supervised().stop(program, wait=False)
            os.kill(pid, signal.SIGKILL)
            eventually(lambda: not is_alive(pid))
            return
        former = self.pids
        # What loses its power closes no connection.
        self.cut()
        if stays_dead:
            self._above().stop(self._node.process_name)
        else:
            os.kill(self._alive().pid, signal.SIGKILL)
        eventually(lambda: not former & self.pids)
        self.mend()

    def revive(self, program: Program | None = None) -> None:
        """Lets what stays dead start again. Does not wait for it."""
        if program:
            self._supervised().start([program])
        else:
            self._above().start([self._node.process_name])

    def until(self, kube: Kube, *, ready: bool) -> None:
        """Waits until the control plane takes it as ready, and places pods on it, or as lost."""

        def looks_ready() -> bool | None:
            node = kube.get(f"/api/v1/nodes/{self.name}") or {}
            found = [one["status"] for one in node["status"]["conditions"] if one["type"] == "Ready"]
            # Of neither kind until its taints follow.
            return False if found != ["True"] else None if node["spec"].get("taints") else True

        eventually(lambda: looks_ready() is ready)

    @contextlib.contextmanager
    def closed(self, kube: Kube) -> Iterator[None]:
        """Lets the scheduler place no pod on it for as long as the block runs; pods that it has stay."""
        self._apply(kube, {"unschedulable": True})
        try:
            yield
        finally:
            self._apply(kube, {})
        self.until(kube, ready=True)

    def _apply(self, kube: Kube, spec: dict[str, Any]) -> None:
        node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": self.name}, "spec": spec}
        kube.apply(f"/api/v1/nodes/{self.name}", node, "test")

    def _alive(self) -> Alive:
        alive = processes.find_node(self._node)
        assert alive, f"{self.name} does not run"
        return alive

    def _supervised(self) -> Supervisor:
        return Supervisor(self._alive().path(self._at.supervisor_socket))

    def _above(self) -> Supervisor:
        """What runs the node as a whole."""
        assert not self._node.is_first, "the first node ends with the cluster"
        alive = processes.find(self._node.instance)
        assert alive, "the cluster does not run"
        return Supervisor(alive.path(self._first.supervisor_socket))
