"""The cluster of a command (the embedded one, that of a kubeconfig's context, or a cloud's), and the stacks' states."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path

from tensorplane import stack_file
from tensorplane.core import command_lines
from tensorplane.core.command_lines import STACK
from tensorplane.core.errors import UserError
from tensorplane.core.kube import Kube
from tensorplane.core.paths import PROJECT, context_home
from tensorplane.driver import cloud_kubeconfig
from tensorplane.driver.stack_settings import StackSettings
from tensorplane.embedded import cluster
from tensorplane.embedded.environment import project_environment
from tensorplane.embedded.instance import Instance
from tensorplane.toolchain.pulumi_environment import pulumi_environment

_EMBEDDED, _EXISTING = "embedded", "existing"


@dataclass(frozen=True)
class Target:
    """A stack's cluster, and where the stack's state is kept."""

    context: str
    """Context of the kubeconfig; empty for the embedded cluster and for a cloud's."""
    instance: Instance
    kubeconfig: Path | None = None
    """The kubeconfig with the context; None: the one that kubectl uses."""
    override: str = ""
    """The context with which the caller overrides the stack's file."""
    cloud: str = ""
    """Kind of the cluster, if the stack creates it."""
    stack: str = STACK

    @classmethod
    def of(cls, context: str, instance: Instance | None = None, *, stack: str = STACK) -> Target:
        """The cluster of `context`, else the one in the stack's file; the embedded one if it names none."""
        instance = instance or Instance.current()
        if context:
            return cls(context, instance, override=context, stack=stack)
        settings = StackSettings(stack, instance.stacks).section("cluster")
        kind, wanted = settings.get("kind", _EMBEDDED), settings.get("context")
        # Every other kind creates a cluster; the settings' check refuses unknown kinds.
        if isinstance(kind, str) and kind not in (_EMBEDDED, _EXISTING):
            return cls("", instance, cloud=kind, stack=stack)
        if kind != _EXISTING or not isinstance(wanted, str):
            return cls("", instance, stack=stack)
        kubeconfig = settings.get("kubeconfig")
        path = Path(str(kubeconfig)).expanduser() if kubeconfig else None
        return cls(wanted, instance, path, stack=stack)

    @property
    def embedded(self) -> bool:
        return not self.context and not self.cloud

    @property
    def home(self) -> Path:
        """Folder of the state.

        Stacks share one, because a shell has one backend. A context that the caller names has its own, because the same
        stack may be on several clusters; if the stack's file names the context later, it continues with that state.
        """
        if self.context:
            own = context_home(self.context)
            if self.override or has_state(own, stack_file.project_name(PROJECT), self.stack):
                return own
        return self.instance.stacks

    def environment(self) -> dict[str, str]:
        """Variables for running `pulumi` in the project against this cluster; what the user has set stays."""
        chosen = {"TENSORPLANE_CONTEXT": self.override}
        if self.embedded:
            return project_environment(self.instance) | chosen
        path = os.pathsep.join([str(Path(sys.prefix) / "bin"), os.environ.get("PATH", os.defpath)])
        return {**pulumi_environment(self.home), "PATH": path, **chosen}

    def check_running(self) -> None:
        """A UserError if this is the embedded cluster and it is stopped; nothing is asked of other clusters."""
        if self.embedded and not cluster.is_running(self.instance):
            raise UserError(f"The embedded cluster is stopped; start it with: {command_lines.deploy()}")

    def api(self) -> Kube:
        if self.embedded:
            return Kube.of(self.instance.kubeconfig, remedy=command_lines.start())
        if self.cloud:
            creator = StackSettings(self.stack, self.instance.stacks).of_platform.name
            access = cloud_kubeconfig.get_kubeconfig(creator, self.environment())
            return Kube.of_text(access, remedy=f"Look with: {command_lines.kubeconfig(creator)}")
        return Kube.of(self.kubeconfig, self.context)

    def answering_api(self) -> Kube:
        """The API once it has answered; a UserError with the reason if it does not."""
        self.check_running()
        api = self.api()
        try:
            api.get("/version")
        except UserError as error:
            if self.embedded:
                raise
            chosen = f"context {self.context}" if self.context else f"stack {self.stack}"
            raise UserError(f"{chosen}: {' '.join(error.lines)}") from None
        return api


def state_files(home: Path) -> list[Path]:
    """The state of each stack, as PROJECT/STACK.json in the home's backend."""
    return sorted((home / "pulumi" / ".pulumi" / "stacks").glob("*/*.json"))


def has_state(home: Path, project: str, stack: str) -> bool:
    """Whether a home has the state of a project's stack."""
    return any((path.parent.name, path.stem) == (project, stack) for path in state_files(home))
