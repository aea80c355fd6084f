"""The chart of NVIDIA's device plugin, for simulated nodes, from its Go module; nothing is compiled."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path

from tensorplane.core.step import Step
from tensorplane.core.tasks import command
from tensorplane.toolchain import golang
from tensorplane.toolchain.golang import MODULES
from tensorplane.toolchain.tool_folders import made_whole, tools_folder

_SOURCE = MODULES / "charts"
_MODULE = "github.com/NVIDIA/k8s-device-plugin"
_CHART = Path("deployments/helm/nvidia-device-plugin")


def folder() -> Path:
    """The folder, named by version, for the chart `nvidia-device-plugin`."""
    pins = (_SOURCE / "go.mod").read_bytes() + (_SOURCE / "go.sum").read_bytes()
    return tools_folder() / f"charts-{hashlib.sha256(pins).hexdigest()[:12]}"


def is_missing() -> bool:
    """Whether this machine lacks the chart."""
    return not folder().exists()


def obtain(step: Step) -> None:
    """Downloads the module, verified against go.sum, and copies its chart."""
    go = golang.obtain(step)
    with made_whole(folder(), step) as draft:
        if draft:
            step.note("downloading the chart of NVIDIA's device plugin")
            output = command(
                [go.program, "mod", "download", "-json", _MODULE], step=step, env=go.environment, cwd=_SOURCE
            )
            keep(Path(json.loads(output)["Dir"]) / _CHART, draft / _CHART.name)


def keep(source: Path, target: Path) -> None:
    """Copies a chart from Go's module cache, where everything is read-only."""
    shutil.copytree(source, target, copy_function=shutil.copyfile)
    for path in [target, *target.rglob("*")]:
        path.chmod(0o755 if path.is_dir() else 0o644)
