"""Pods that read a folder of a job."""

from __future__ import annotations

from typing import Any

from tensorplane.cli.training_jobs import reader_pod

FOLDER = "/models/checkpoints/logs/train-1"


def _job_set() -> dict[str, Any]:
    container = {
        "image": "train:1",
        "volumeMounts": [
            {"name": "tmp", "mountPath": "/tmp"},
            {"name": "models", "mountPath": "/models"},
            {"name": "data", "mountPath": "/mod"},
        ],
        "securityContext": {"runAsNonRoot": True},
    }
    claims = [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in ("models", "data")]
    spec = {
        "containers": [container],
        "volumes": [{"name": "tmp", "emptyDir": {}}, *claims],
        "nodeSelector": {"a": "b"},
        "serviceAccountName": "train",
        "schedulingGates": [{"name": "kueue.x-k8s.io/topology"}],
    }
    template = {
        "metadata": {
            "labels": {"app.kubernetes.io/component": "training", "volumes.tensorplane/models": "mounted"},
            "annotations": {"gke-gcsfuse/volumes": "true", "kueue.x-k8s.io/podset-preferred-topology": "zone"},
        },
        "spec": spec,
    }
    about = {"name": "train-1", "namespace": "ml", "labels": {"app.kubernetes.io/name": "train"}}
    job = {"name": "worker", "template": {"spec": {"template": template}}}
    return {"metadata": about, "spec": {"replicatedJobs": [job]}}


def _pod() -> dict[str, Any]:
    return reader_pod.reading(_job_set(), FOLDER, "logs", ["cat"], memory="64Mi", ports=[{"containerPort": 1}])


def test_it_only_sees_the_volume_of_the_folder_and_cannot_write_there() -> None:
    spec = _pod()["spec"]
    (container,) = spec["containers"]
    assert container["volumeMounts"] == [
        {"name": "tmp", "mountPath": "/tmp"},
        {"name": "models", "mountPath": "/models", "readOnly": True},
    ]
    assert [volume["name"] for volume in spec["volumes"]] == ["tmp", "models"]
    assert (container["command"], container["ports"]) == (["cat"], [{"containerPort": 1}])


def test_it_runs_where_and_as_whom_the_job_runs() -> None:
    spec = _pod()["spec"]
    assert (spec["serviceAccountName"], spec["nodeSelector"]) == ("train", {"a": "b"})
    assert not spec["automountServiceAccountToken"]
    assert "schedulingGates" not in spec


def test_drivers_and_the_affinity_to_a_disk_find_it_and_kueue_and_jobset_do_not() -> None:
    about = _pod()["metadata"]
    assert about["labels"]["volumes.tensorplane/models"] == "mounted"
    assert about["labels"]["app.kubernetes.io/component"] == "logs"
    assert about["annotations"] == {"gke-gcsfuse/volumes": "true"}
    assert "jobset" not in str(about["labels"]), "it is no pod of the job"
