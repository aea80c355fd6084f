"""A job with parameter servers: a killed worker is replaced alone, and the other pods end with the chief."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from driver import watch
from driver.kube import Kube
from driver.watch import Outputs
from embedded.step import Step
from tests.e2e import long_run
from tests.e2e.conftest import Deployed
from tests.support.waiting import eventually

STEPS = 4000
"""Long enough that a worker is killed, replaced and used again before the end."""
CHANGES = {
    "{kind: multiWorkerMirrored, workers: 2}": (
        "{kind: parameterServer, workers: 2, chief: {cpus: 0.2, memoryGib: 1}, "
        "serverResources: {cpus: 0.1, memoryGib: 1}}"
    ),
    "resources: {cpus: 0.4, memoryGib: 1.25}": "resources: {cpus: 0.2, memoryGib: 1}",
    "memoryGib: 3\n": "memoryGib: 4\n",
}


class _Pods:
    """The pods of one run by role."""

    def __init__(self, kube: Kube, outputs: Outputs) -> None:
        self.kube, self.run = kube, outputs.job_set
        self.path = f"/api/v1/namespaces/{outputs.namespace}/pods"

    def of(self, role: str = "") -> dict[str, dict[str, Any]]:
        """Pods by name, of one role or of all."""
        labels = f"jobset.sigs.k8s.io/jobset-name={self.run}"
        if role:
            labels += f",jobset.sigs.k8s.io/replicatedjob-name={role}"
        return {pod["metadata"]["name"]: pod for pod in self.kube.items(self.path, labelSelector=labels)}

    def story(self) -> str:
        """Each pod's state and log, for a failed assertion."""
        return "\n".join(
            f"{name}: {pod['status']}\n{self.kube.text(f'{self.path}/{name}/log') or ''}"
            for name, pod in self.of().items()
        )

    def log(self, pattern: str, role: str = "chief") -> re.Match[str]:
        """Waits for a line of a pod of the role."""

        def text() -> str:
            return "".join(self.kube.text(f"{self.path}/{name}/log") or "" for name in self.of(role))

        found = eventually(lambda: re.search(pattern, text()), about=text)
        assert found
        return found


def test_a_killed_worker_is_replaced_alone_and_all_end_with_the_chief(deployed: Deployed, tmp_path: Path) -> None:
    stack = long_run.deployed(deployed.stack, tmp_path, steps=STEPS, changes=CHANGES)
    outputs = Outputs.of(stack.outputs())
    pods = _Pods(deployed.kube, outputs)
    pods.log(r"saved=\d+")
    before = pods.of()
    assert sorted({name.split("-")[-4] for name in before}) == ["chief", "ps", "worker"]
    victim = next(iter(sorted(pods.of("worker"))))

    # No grace: what a node that dies does to its pods.
    deployed.kube.delete(f"{pods.path}/{victim}", gracePeriodSeconds="0")
    eventually(lambda: len(set(pods.of("worker")) - {victim}) == 2 and victim not in pods.of("worker"))
    replaced = set(before) - {victim} - set(pods.of())
    assert not replaced, pods.story()

    accuracy = float(pods.log(r"accuracy=(\S+)").group(1))
    assert accuracy >= 0.95
    watch.training(deployed.kube, outputs, Step("training"))
    eventually(lambda: not any(pod["status"]["phase"] in ("Running", "Pending") for pod in pods.of().values()))
    job_set = deployed.kube.get(f"/apis/jobset.x-k8s.io/v1alpha2/namespaces/{outputs.namespace}/jobsets/{pods.run}")
    assert job_set is not None
    assert not job_set["status"].get("restarts")
