"""Previews of this project's program by the real engine with the policy pack, which keeps what the engine sends it."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pulumi.runtime.proto import analyzer_pb2 as messages

from tensorplane.core.paths import PROJECT
from tensorplane.driver.update.policy_pack import PACK
from tensorplane.toolchain.pulumi_environment import INPUTS_AS_OUTPUTS
from tests.policies.preview_provider import Servicer
from tests.recorded import stacks
from tests.support.rendering import settings_of

_RECORDING_PACK = "tests/policies/recording_pack"
_UP_TO_THE_USER = {rule: {"maxGpus": 10**6} for rule in ("gpu-quota", "fleet-gpus")} | {
    rule: {"maxHourlyUsd": 10**6} for rule in ("fleet-cost", "fleet-idle-cost")
}
DEV = PROJECT / "Pulumi.dev.yaml"


@dataclass(frozen=True)
class Judged:
    """What became of a preview."""

    passed: bool
    output: str
    sent: list[Any]
    """The resources that the engine sent to be judged; empty if it sent none."""


def judged(
    root: Path, settings: Path, config: Mapping[str, Any], *, variables: Mapping[str, str] = INPUTS_AS_OUTPUTS
) -> Judged:
    """A preview of an empty stack with these settings, under a configuration of the pack, in the empty folder `root`.

    The stack is `dev`, or one on the platform of `dev`.
    """
    with stacks.opened(root, servicer=Servicer()) as project:
        stack = "vision" if "tensorplane:platform:" in settings.read_text() else "dev"
        shutil.copyfile(DEV, project.folder / DEV.name)
        project.add("dev")
        if stack != "dev":
            project.add(stack)
        shutil.copyfile(settings, project.folder / f"Pulumi.{stack}.yaml")
        file, sent = root / "config.json", root / "sent"
        file.write_text(json.dumps(config))
        pack = ["--policy-pack", _RECORDING_PACK, "--policy-pack-config", str(file)]
        done = subprocess.run(
            ["pulumi", "preview", "--stack", stack, *pack, "--non-interactive", "--color=never"],
            cwd=project.folder,
            env={**project.environment, **variables, "TENSORPLANE_SENT": str(sent)},
            capture_output=True,
            text=True,
        )
        request = messages.AnalyzeStackRequest.FromString(sent.read_bytes() if sent.exists() else b"")
        return Judged(done.returncode == 0, done.stdout + done.stderr, list(request.resources))


def config_of(tree: Mapping[str, Any], environment: str = "dev") -> dict[str, Any]:
    """The configuration under which `make up` judges the stack of these settings: that of its environment. Away from
    the embedded cluster, it has none of its own: how many GPUs and dollars are allowed is up to who deploys it."""
    file = PACK / f"config.{environment}.json"
    if environment == "dev" and tree.get("cluster", {}).get("kind", "embedded") != "embedded":
        return dict(_UP_TO_THE_USER)
    return dict(json.loads(file.read_text()))


def config_of_file(settings: Path) -> dict[str, Any]:
    """That of a stack's file; a reader copies an example to that of `dev`."""
    own = settings.stem.removeprefix("Pulumi.") if settings.stem.startswith("Pulumi.") else "dev"
    return config_of(settings_of(settings).tree, own)
