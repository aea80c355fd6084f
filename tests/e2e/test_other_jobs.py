"""Jobs of the namespace that are not training, such as those that take snapshots: Kueue leaves them alone."""

from __future__ import annotations

from kubernetes import config

from embedded.provider.api import Api
from tests.e2e.conftest import Deployed


def test_a_job_without_a_queue_does_not_wait_in_the_default_one(deployed: Deployed) -> None:
    namespace = deployed.outputs.namespace
    queues = deployed.kube.items(f"/apis/kueue.x-k8s.io/v1beta2/namespaces/{namespace}/localqueues")
    assert "default" in {one["metadata"]["name"] for one in queues}
    container = {"name": "main", "image": "nothing"}
    template = {"spec": {"containers": [container], "restartPolicy": "Never"}}
    Api(config.new_client_from_config(str(deployed.instance.kubeconfig))).apply(
        {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": "other", "namespace": namespace},
            # No pods: what Kueue does, it does when the job is made.
            "spec": {"parallelism": 0, "template": template},
        },
        manager="test",
    )
    made = deployed.kube.get(f"/apis/batch/v1/namespaces/{namespace}/jobs/other")
    assert made
    assert not made["spec"].get("suspend")
    assert "kueue.x-k8s.io/queue-name" not in made["metadata"].get("labels", {})
    deployed.kube.delete(f"/apis/batch/v1/namespaces/{namespace}/jobs/other")
