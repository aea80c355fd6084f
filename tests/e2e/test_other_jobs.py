"""Jobs that name no queue, such as those that take snapshots: Kueue leaves them alone."""

from __future__ import annotations

from typing import Any

import pytest

from tensorplane.core.kube import Kube
from tensorplane.core.kube_objects import Objects
from tests.e2e.conftest import Deployed

TEMPLATE = {"spec": {"containers": [{"name": "main", "image": "nothing"}], "restartPolicy": "Never"}}
JOB = {"apiVersion": "batch/v1", "kind": "Job", "spec": {"template": TEMPLATE}}
JOB_SET = {
    "apiVersion": "jobset.x-k8s.io/v1alpha2",
    "kind": "JobSet",
    "spec": {"replicatedJobs": [{"name": "main", "template": {"spec": {"template": TEMPLATE}}}]},
}


@pytest.mark.parametrize("job", [JOB, JOB_SET], ids=lambda job: str(job["kind"]))
def test_a_job_without_a_queue_starts_at_once(deployed: Deployed, job: dict[str, Any]) -> None:
    api = Objects(Kube.of(deployed.instance.kubeconfig))
    about = {"name": "other", "namespace": deployed.outputs.namespace}
    # What Kueue does, it does when the job is made.
    made = api.create({**job, "metadata": about}, manager="test", dry_run=True)
    assert not made["spec"].get("suspend")
    assert "kueue.x-k8s.io/queue-name" not in made["metadata"].get("labels", {})
