"""A run of the dev stack's job that is long enough to be disturbed, and what its pods say."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from driver import linked_project
from driver.deploy import Stack
from driver.kube import Kube
from driver.watch import Outputs
from embedded.paths import PROJECT
from embedded.step import Step
from tests.support.waiting import eventually

SAVE_EVERY = 200


def deployed(
    stack: Stack,
    folder: Path,
    *,
    steps: int,
    changes: Mapping[str, str] = MappingProxyType({}),
    kube: Kube | None = None,
    told: list[str] | None = None,
) -> Stack:
    """The dev stack with a job of so many steps, and texts of its settings replaced by others.

    `told`: takes what is said before the update acts, with the help of the cluster `kube`.
    """
    text = (PROJECT / "Pulumi.dev.yaml").read_text()
    settings = re.sub(r"STEPS: \d+", f"STEPS: {steps}", text)
    settings = settings.replace(
        "checkpoints: {volume: models}", f"checkpoints: {{volume: models, everySteps: {SAVE_EVERY}}}"
    )
    for before, after in changes.items():
        assert before in settings
        settings = settings.replace(before, after)
    made = linked_project.with_settings(stack, folder, settings)
    made.prepare(Step("prepare"))
    made.up(Step("pulumi up"), kube, print if told is None else told.append)
    return made


class Run:
    """What one run's pods are and say."""

    def __init__(self, kube: Kube, outputs: Outputs) -> None:
        self.kube, self.outputs = kube, outputs
        self.pods_path = f"/api/v1/namespaces/{outputs.namespace}/pods"

    def newest(self, worker: int) -> dict[str, Any] | None:
        run = f"jobset.sigs.k8s.io/jobset-name={self.outputs.job_set}"
        which = f"batch.kubernetes.io/job-completion-index={worker}"
        pods = self.kube.items(self.pods_path, labelSelector=f"{run},{which}")
        return max(pods, key=lambda pod: str(pod["metadata"]["creationTimestamp"]), default=None)

    def said(self, pattern: str, *, not_by: str = "") -> re.Match[str]:
        """Waits for a line of the chief's newest pod, other than the pod `not_by`."""

        def log() -> str:
            chief = self.newest(0)
            name = chief["metadata"]["name"] if chief else ""
            return self.kube.text(f"{self.pods_path}/{name}/log") if name and name != not_by else ""

        found = eventually(lambda: re.search(pattern, log()), about=log)
        assert found
        return found
