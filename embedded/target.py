"""Which cluster a command is about: the embedded one, one that a context of a kubeconfig names, or a cloud's."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path

from embedded import toolchain
from embedded.carried_over import carry_over
from embedded.hosts.environment import pulumi_environment
from embedded.hosts.stack_settings import StackSettings
from embedded.kube import Kube
from embedded.paths import Instance, context_home

STACK = "dev"
_CLOUDS = frozenset({"eks", "gke", "aks"})


@dataclass(frozen=True)
class Target:
    """One cluster and where the stack's state on it is kept."""

    context: str
    """Context of the kubeconfig; empty for the embedded cluster and for a cloud's."""
    instance: Instance
    kubeconfig: Path | None = None
    """Where the context is; None means where kubectl looks."""
    override: str = ""
    """The context, where the caller named it over the stack's file."""
    cloud: str = ""
    """Kind of the cluster, where the stack makes it in a cloud."""

    @classmethod
    def of(cls, context: str, instance: Instance | None = None, *, stack: str = STACK) -> Target:
        """The cluster of `context`, else the one that the stack's file names. A faulty file names the embedded one."""
        instance = instance or Instance.current()
        if context:
            return cls(context, instance, override=context)
        named = StackSettings(stack, instance.stacks).section("cluster")
        if named.get("kind") in _CLOUDS:
            return cls("", instance, cloud=str(named["kind"]))
        wanted = named.get("context")
        if named.get("kind") != "existing" or not isinstance(wanted, str):
            return cls("", instance)
        kubeconfig = named.get("kubeconfig")
        return cls(wanted, instance, Path(str(kubeconfig)).expanduser() if kubeconfig else None)

    @property
    def embedded(self) -> bool:
        return not self.context and not self.cloud

    @property
    def home(self) -> Path:
        """Folder of the state. A cloud's is where plain `pulumi` keeps it in this project: with the dev stack's."""
        if self.cloud:
            dev = Target.of("", self.instance)
            return self.instance.stacks if dev.cloud else dev.home
        return self.instance.stacks if self.embedded else context_home(self.context)

    def environment(self) -> dict[str, str]:
        """Variables for running `pulumi` in the project against this cluster; what the user has set stays."""
        carry_over(self.instance)
        chosen = {"TENSORPLANE_CONTEXT": self.override}
        if self.embedded:
            return toolchain.project_environment(self.instance) | chosen
        path = os.pathsep.join([str(Path(sys.prefix) / "bin"), os.environ.get("PATH", os.defpath)])
        return {**pulumi_environment(self.home), "PATH": path, **chosen}

    def api(self) -> Kube:
        return Kube.of(self.instance.kubeconfig) if self.embedded else Kube.of(self.kubeconfig, self.context)
