"""Brings an instance from any state to a Ready node whose DNS answers."""

from __future__ import annotations

import contextlib
import datetime
import shutil
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from kubernetes import config

from embedded.cluster import cgroups, configuration, dns, network, processes, stopping, supervisor
from embedded.cluster.configuration import Configuration
from embedded.cluster.image_store import ImageStore
from embedded.cluster.lock import only_one
from embedded.cluster.node_config import SANDBOX_IMAGE
from embedded.cluster.pki import NODE_NAME
from embedded.cluster.places import Places
from embedded.cluster.processes import Alive
from embedded.cluster.supervisor import Supervisor
from embedded.fault import Fault
from embedded.paths import Instance
from embedded.progress import Step
from embedded.provider.api import GVK, Api, ApiError

_FREE_GIB = 2.0
"""Below 1 GiB the kubelet evicts pods; a cluster that starts needs some room above that."""
_PATIENCE = 120.0
"""Seconds that one stage may take before it is called a fault. On two idle processors all stages take 20."""
_NODE = GVK("", "v1", "Node")


def start(instance: Instance, step: Step) -> None:
    """Idempotent: a cluster that runs with the same configuration is only looked at; anything else is made anew."""
    at = Places(instance)
    with only_one(instance):
        _refuse_other_home(at)
        step.note("certificates and configuration")
        wanted = configuration.write(at)
        alive = processes.find(instance)
        if alive is None or alive.identity(at).get("fingerprint") != wanted.fingerprint:
            stopping.clean(instance)
            alive = _launch(at, wanted)
        _converge(at, alive, wanted, step)


def _refuse_other_home(at: Places) -> None:
    alive = processes.find(at.instance)
    home = alive.identity(at).get("home") if alive else None
    if home and home != str(at.instance.home):
        raise Fault(
            f"cluster {at.instance.name}: it runs already, with its data in {home}, not in {at.instance.home}: "
            "stop it with `make down`, or choose the same XDG_STATE_HOME"
        )


def _launch(at: Places, wanted: Configuration) -> Alive:
    free = shutil.disk_usage(at.instance.home).free / 2**30
    if free < _FREE_GIB:
        raise Fault(
            f"{at.instance.home}: {free:.1f} GiB free, the cluster needs {_FREE_GIB:.0f}: free some space there"
        )
    network.check_addresses(at.instance)
    network.create(at.instance)
    cgroups.create(at.instance)
    processes.launch(at.instance, wanted.fingerprint)
    end = time.monotonic() + 30
    while time.monotonic() < end:
        alive = processes.find(at.instance)
        if alive and alive.identity(at).get("fingerprint") and _answers(at, alive):
            return alive
        time.sleep(0.05)
    path = at.logs / "first-process.log"
    raise Fault(f"supervisord does not start: {supervisor.last_error(path)} (log: {path})")


def _answers(at: Places, alive: Alive) -> bool:
    with contextlib.suppress(OSError):
        return bool(Supervisor(alive.path(at.supervisor_socket)).states())
    return False


def _converge(at: Places, alive: Alive, wanted: Configuration, step: Step) -> None:
    supervised = Supervisor(alive.path(at.supervisor_socket))
    wait = _Wait(at, alive, supervised)
    supervised.start([component.name for component in wanted.components if component.stage == 0])
    with ThreadPoolExecutor(1) as pool:
        add_ons = pool.submit(_import_add_ons, at, alive, wait, step)
        api = _Watched(Api(config.new_client_from_config(str(at.instance.kubeconfig))))
        step.note("etcd and the API server")
        wait.until("the API server", api.is_ready, "kube-apiserver")
        supervised.start([component.name for component in wanted.components if component.stage == 1])
        step.note("node and DNS")
        for manifest in (_kubelet_access(), *dns.manifests(at.instance)):
            wait.until(f"{manifest['kind']} {manifest['metadata']['name']}", api.applied(manifest), "kube-apiserver")
        add_ons.result()
    wait.until("the node", lambda: api.node_is_ready(supervised.states()["kubelet"].started), "kubelet")
    wait.until("the cluster's DNS", lambda: dns.answers(at.instance), "kube-proxy")
    # A process that just came back counts as running when it has stayed up for a second.
    wait.until("the cluster", lambda: supervisor.all_running(alive.path(at.supervisor_socket)), "supervisord")


def _import_add_ons(at: Places, alive: Alive, wait: _Wait, step: Step) -> None:
    wait.until("containerd", alive.path(at.containerd_socket).is_socket, "containerd")
    ImageStore(at, alive).load((SANDBOX_IMAGE, dns.IMAGE), step)


def _kubelet_access() -> dict[str, Any]:
    """Lets the API server read logs and run commands through the kubelet, which asks RBAC about every caller."""
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "tensorplane:kubelet-api"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "system:kubelet-api-admin"},
        "subjects": [
            {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "kube-apiserver-kubelet-client"}
        ],
    }


class _Watched:
    """The API server while it comes up: its refusals mean `not yet`."""

    def __init__(self, api: Api) -> None:
        self._api = api

    def is_ready(self) -> bool:
        with contextlib.suppress(ApiError):
            return self._api.text("/readyz") == "ok"
        return False

    def applied(self, manifest: dict[str, Any]) -> Callable[[], bool]:
        """A condition that tries to apply the object: its namespace, or its kind, may come a moment later."""

        def attempt() -> bool:
            with contextlib.suppress(ApiError):
                self._api.apply(manifest, manager="tensorplane", force=True)
                return True
            return False

        return attempt

    def node_is_ready(self, since: int) -> bool:
        """Whether the kubelet that runs now said so; what an earlier one said is in etcd, too."""
        with contextlib.suppress(ApiError):
            conditions = self._api.get(_NODE, NODE_NAME)["status"].get("conditions", [])
            ready = next((found for found in conditions if found["type"] == "Ready"), None)
            return ready is not None and ready["status"] == "True" and _seconds(ready["lastHeartbeatTime"]) >= since
        return False


def _seconds(time_of_day: str) -> float:
    return datetime.datetime.fromisoformat(time_of_day).timestamp()


class _Wait:
    """Waits for one thing after the other, and says which component is at fault when it does not come."""

    def __init__(self, at: Places, alive: Alive, supervised: Supervisor) -> None:
        self._at, self._alive, self._supervised = at, alive, supervised

    def until(self, what: str, condition: Callable[[], bool], culprit: str) -> None:
        for _ in self._ticks():
            if condition():
                return
            self._check()
        log = supervisor.log(self._at, culprit)
        raise Fault(f"{what}: not ready after {_PATIENCE:.0f} s: {supervisor.last_error(log)} (log: {log})")

    def _ticks(self) -> Iterator[None]:
        end = time.monotonic() + _PATIENCE
        while time.monotonic() < end:
            yield
            time.sleep(0.1)

    def _check(self) -> None:
        try:
            self._supervised.check(self._at)
        except OSError:
            log = self._at.logs / "supervisord.log"
            raise Fault(
                f"cluster {self._at.instance.name}: stopped half-way: {supervisor.last_error(log)} (log: {log}): "
                "run `make up` again"
            ) from None
