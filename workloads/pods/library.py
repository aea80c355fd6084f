"""tensorplane's library in the stack's namespace, once for all its training jobs: it has half a megabyte."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pulumi

from tensorplane.workloads.pods import files, sources
from tensorplane.workloads.pods.owner import Owner
from tensorplane.workloads.training_job import deployed_runs

if TYPE_CHECKING:
    from tensorplane.components.namespace.component import Namespace


class SharedLibrary:
    """The ConfigMap with this version of the library, and those of earlier versions that running gangs mount."""

    def __init__(self, namespace: Namespace) -> None:
        self._owner = Owner(namespace, "tensorplane", namespace, "training")
        self._content = files.shared_library(sources.library())
        self.current = self._config_map(self._content.name)
        """The one that new gangs mount."""
        self._there = {self._content.name}

    def keep(self, name: str) -> None:
        """Keeps that of an earlier version, by Pulumi's name, as it is deployed. It goes when no job asks for it."""
        if name not in self._there:
            self._there.add(name)
            self._config_map(name, deployed_runs.unchanged(pulumi.Output.from_input(True)))

    def _config_map(self, name: str, opts: pulumi.ResourceOptions | None = None) -> pulumi.Resource:
        # Each version is a resource of its own, since several may be there.
        return self._owner.config_map(self._content, opts, logical_name=name)
