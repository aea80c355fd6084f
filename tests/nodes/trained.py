"""The dev stack's job on two real nodes: run after run, and what each one published."""

from __future__ import annotations

import contextlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tensorplane.components.base.labels import JOB_SET_NAME
from tensorplane.core.kube import Kube
from tensorplane.core.paths import PROJECT
from tensorplane.core.step import Step
from tensorplane.driver import watch
from tensorplane.driver.target import Target
from tensorplane.driver.update.stack import Stack, open_stack
from tensorplane.driver.watch import Outputs
from tensorplane.embedded import cluster
from tensorplane.embedded.instance import Instance
from tests.e2e.conftest import Deployed
from tests.e2e.stacks import volume_folder
from tests.nodes import steps

LOST_AFTER_SECONDS = 20


@dataclass
class Trained:
    """The stack, deployed anew for each run."""

    instance: Instance
    stack: Stack
    kube: Kube
    folder: Path
    outputs: Outputs | None = None
    run: str = ""
    """The name of the run's JobSet."""

    @classmethod
    def on(cls, instance: Instance, folder: Path) -> Trained:
        """On a cluster with two nodes and nothing else."""
        cluster.load_images(instance, Step("load images"))
        return cls(instance, open_stack(Target("", instance)), Kube.of(instance.kubeconfig), folder)

    def start(self, run: int, steps: int, *, lost_after: int | None = LOST_AFTER_SECONDS) -> None:
        """Begin another run of the job; all that is not its gang stays where it is."""
        tree = yaml.safe_load((PROJECT / "Pulumi.dev.yaml").read_text())
        config = tree["config"]
        config["tensorplane:cluster"] = {"kind": "embedded", "nodes": 2}
        config["tensorplane:nodes"] = {"lostAfterSeconds": lost_after} if lost_after else {}
        job = config["tensorplane:workloads"]["digits"]
        job |= {"env": {"STEPS": steps, "RUN": run}, "checkpoints": {"volume": "models", "everySteps": steps // 10}}
        # Either node has room for the whole gang beside all else.
        job["resources"]["cpus"], config["tensorplane:workloads"]["digits-server"]["resources"]["cpus"] = 0.2, 0.05
        self.stack = self.stack.with_settings(self.folder, yaml.safe_dump(tree))
        self.stack.up(Step("pulumi up"), state=self.stack.prepare(Step("prepare")))
        outputs = self.stack.outputs()
        self.run, self.outputs = outputs["workloads"]["digits"]["jobSet"], Outputs.of(outputs)

    def finish(self) -> None:
        """Wait until the run has ended well."""
        assert self.outputs
        watch.wait_for_training(self.kube, self.outputs, Step("training"))

    def versions(self) -> dict[str, dict[str, str]]:
        """The digests of the variables of each version that servers can see."""
        base = self._volume() / "digits"
        found = [each for each in base.iterdir() if each.name.isdecimal()] if base.exists() else []
        return {each.name: json.loads((each / "assets.extra" / "content.json").read_text()) for each in found}

    def logs(self) -> list[str]:
        """What each start of the run's chief has printed, the first one's first."""
        found = (self._volume() / "checkpoints" / "logs" / self.run).glob("worker-0.*.log")
        return [each.read_text() for each in sorted(found, key=lambda path: int(path.name.split(".")[1]))]

    def pods(self) -> list[dict[str, Any]]:
        """The pods of the run's gang that are not being deleted."""
        assert self.outputs
        path = f"/api/v1/namespaces/{self.outputs.namespace}/pods"
        found = self.kube.items(path, labelSelector=f"{JOB_SET_NAME}={self.run}")
        return [each for each in found if "deletionTimestamp" not in each["metadata"]]

    def job_set(self) -> dict[str, Any]:
        """The run's."""
        assert self.outputs
        path = f"/apis/jobset.x-k8s.io/v1alpha2/namespaces/{self.outputs.namespace}/jobsets/{self.run}"
        return self.kube.get(path) or {}

    def is_over(self) -> bool:
        """Whether the run has ended, in whatever way."""
        return bool((self.job_set().get("status") or {}).get("terminalState"))

    def step(self) -> int:
        """The last step that the gang has printed; 0 before."""
        for each in self.pods():
            about = each["metadata"]
            if about["labels"]["batch.kubernetes.io/job-completion-index"] == "0":
                with contextlib.suppress(Exception):  # a container that starts has no log yet
                    log = self.kube.text(f"/api/v1/namespaces/{about['namespace']}/pods/{about['name']}/log")
                    return steps.last(log)
        return 0

    def _volume(self) -> Path:
        assert self.outputs
        deployed = Deployed(self.instance, self.stack, self.outputs, self.kube)
        return volume_folder(deployed, self.outputs.namespace, "models")
