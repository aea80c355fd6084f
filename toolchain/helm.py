"""Gets helm where our Kubernetes provider needs it: Pulumi's own Kubernetes plugin has it built in."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tensorplane.core.step import Step
from tensorplane.toolchain import go_build, go_module, launchers, pulumi, pulumi_plugins
from tensorplane.toolchain.tool_folders import on_path

_PLUGIN = "pulumi-resource-kubernetes"


def is_missing() -> bool:
    """Whether neither Pulumi's Kubernetes plugin is here nor a helm 3 that our provider can call."""
    if pulumi_plugins.on_path(_PLUGIN) or pulumi_plugins.cached("resource", "kubernetes"):
        return False
    return not (go_module.helm().is_built or go_module.kubernetes().is_built or _is_helm_3(on_path("helm")))


def obtain(step: Step) -> None:
    """Tries to download Pulumi's Kubernetes plugin; without it, gets the helm that our provider calls."""
    step.note("looking for Pulumi's own Kubernetes plugin")
    launchers.install(Path(sys.prefix) / "bin", pulumi=pulumi.find())
    if is_missing():
        go_build.build(go_module.helm(), step)


def _is_helm_3(program: Path | None) -> bool:
    # Its flags are not those of helm 2 or 4.
    if not program:
        return False
    try:
        argv = [str(program), "version", "--short"]
        output = subprocess.run(argv, capture_output=True, text=True, timeout=20).stdout
    except (OSError, subprocess.TimeoutExpired):
        return False
    return output.startswith("v3.")
