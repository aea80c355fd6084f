"""Stacks of tests' own beside the dev stack, and their volumes as this machine sees them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from tensorplane.core.kube import Kube
from tensorplane.core.step import Step
from tensorplane.embedded.cluster import processes
from tensorplane.embedded.cluster.node_paths import NodePaths
from tests.e2e.conftest import Deployed
from tests.support.waiting import eventually


def settings(**sections: Any) -> str:
    """The file of a stack, in the namespace of its name. The dev stack has installed Kueue and JobSet."""
    tree = {"controllers": {"kueue": "present", "jobset": "present"}, **sections}
    return json.dumps({"config": {f"tensorplane:{key}": value for key, value in tree.items()}})


class OwnStack:
    """A stack that its tests deploy, change and destroy."""

    def __init__(self, deployed: Deployed, folder: Path, name: str) -> None:
        self.deployed, self.name, self.namespace = deployed, name, f"tensorplane-{name}"
        self.stack = replace(deployed.stack, settings=replace(deployed.stack.settings, name=name))
        self._folder = folder

    @property
    def kube(self) -> Kube:
        return self.deployed.kube

    def up(self, told: list[str] | None = None, /, **sections: Any) -> dict[str, int]:
        """Deploys these sections of settings instead of the former ones; the number of resources by operation.

        `told`: takes what is said before the update acts, with the cluster's help.
        """
        self.stack = self.stack.with_settings(self._folder, settings(**sections))
        state = self.stack.prepare(Step("prepare"))
        if told is None:
            return self.stack.up(Step("pulumi up"), state=state)
        return self.stack.up(Step("pulumi up"), self.kube, told.append, state=state)

    def workloads(self) -> dict[str, Any]:
        """The outputs of each workload."""
        return dict(self.stack.outputs()["workloads"])

    def url(self, server: str) -> str:
        """Where the first model of a server answers."""
        return str(next(iter(self.workloads()[server]["models"].values())))

    def volume(self, claim: str = "models") -> Path:
        """The folder of a volume."""
        return volume_folder(self.deployed, self.namespace, claim)


@contextmanager
def own(deployed: Deployed, folder: Path, name: str) -> Iterator[OwnStack]:
    """A stack `name` without anything yet, destroyed at the end with its volumes."""
    made = OwnStack(deployed, folder, name)
    try:
        yield made
    finally:
        made.stack.destroy(Step("destroy"))


def volume_folder(deployed: Deployed, namespace: str, claim: str) -> Path:
    """The folder of a claim's volume on this machine, once it is bound."""

    def bound() -> str:
        found = deployed.kube.get(f"/api/v1/namespaces/{namespace}/persistentvolumeclaims/{claim}") or {}
        return str(found.get("spec", {}).get("volumeName") or "")

    volume = deployed.kube.get(f"/api/v1/persistentvolumes/{eventually(bound)}") or {}
    alive = processes.find(deployed.instance)
    assert alive
    return alive.path(NodePaths(deployed.instance).pool) / "volumes" / str(volume["spec"]["csi"]["volumeHandle"])
