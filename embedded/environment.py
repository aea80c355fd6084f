"""The variables of programs in this project that are about one embedded cluster."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from tensorplane.embedded.instance import Instance
from tensorplane.toolchain import tools
from tensorplane.toolchain.pulumi_environment import pulumi_environment


def project_environment(instance: Instance | None = None) -> dict[str, str]:
    """Variables for running `pulumi` in this project against one instance; what the user has set stays."""
    at = instance or Instance.current()
    programs = [str(Path(sys.prefix) / "bin"), str(tools().path("pulumi").parent)]
    path = os.pathsep.join(dict.fromkeys([*programs, *os.environ.get("PATH", os.defpath).split(os.pathsep)]))
    return {
        **pulumi_environment(at.stacks),
        "PATH": path,
        "TENSORPLANE_HOME": str(at.home),
        "KUBECONFIG": str(at.kubeconfig),
    }
