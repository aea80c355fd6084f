"""`tensorplane logs`: which pods, and lines of pods that are deleted."""

from __future__ import annotations

from typing import Any, cast

import pytest

from cli.commands.logs import kept, pods
from cli.commands.logs.pods import Choice
from driver.kube import Kube
from embedded.fault import Fault


def _pod(role: str, index: int, *states: str) -> dict[str, Any]:
    labels = {
        "jobset.sigs.k8s.io/replicatedjob-name": role,
        "batch.kubernetes.io/job-completion-index": str(index),
    }
    about = {"name": f"train-1-{role}-0-{index}-x", "labels": labels, "creationTimestamp": "2026-11-25T10:00:00Z"}
    return {"metadata": about, "status": {"containerStatuses": [{"state": {state: {}}} for state in states]}}


PODS = [_pod("worker", 1, "running"), _pod("ps", 0, "waiting"), _pod("worker", 0, "terminated")]


def _places(choice: Choice) -> list[tuple[str, int]]:
    return [pods.place(pod) for pod in pods.chosen(PODS, choice)]


def test_pods_come_by_role_and_index() -> None:
    assert _places(Choice()) == [("ps", 0), ("worker", 0), ("worker", 1)]
    assert _places(Choice(role="worker")) == [("worker", 0), ("worker", 1)]
    assert _places(Choice(role="worker", index=1)) == [("worker", 1)]
    assert [pods.has_started(pod) for pod in pods.chosen(PODS, Choice())] == [False, True, True]


@pytest.mark.parametrize(
    ("choice", "reason"),
    [
        (Choice(role="workers"), "--role: the job has no role workers; it has ps, worker .did you mean worker?."),
        (Choice(index=2), "--index: no pod has index 2; the last one is 1"),
    ],
)
def test_a_wrong_choice_names_what_there_is(choice: Choice, reason: str) -> None:
    with pytest.raises(Fault, match=reason):
        pods.chosen(PODS, choice)


def _job_set() -> dict[str, Any]:
    container = {
        "image": "train:1",
        "env": [{"name": "TENSORPLANE_RUN", "value": "/models/checkpoints/train-1"}],
        "volumeMounts": [{"name": "models", "mountPath": "/models"}, {"name": "data", "mountPath": "/mod"}],
        "securityContext": {"runAsNonRoot": True},
    }
    volumes = [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in ("models", "data")]
    pod = {"containers": [container], "volumes": volumes, "nodeSelector": {"a": "b"}, "serviceAccountName": "train"}
    about = {"name": "train-1", "namespace": "ml", "labels": {"app.kubernetes.io/name": "train"}}
    job = {"name": "worker", "template": {"spec": {"template": {"spec": pod}}}}
    return {"metadata": about, "spec": {"replicatedJobs": [job]}}


class Reads:
    """A cluster in which the reading pod has printed this."""

    def __init__(self, printed: str) -> None:
        self.printed = printed
        self.applied: list[dict[str, Any]] = []
        self.deleted: list[str] = []

    def apply(self, _: str, thing: dict[str, Any], __: str) -> None:
        self.applied.append(thing)

    def get(self, _: str) -> dict[str, Any]:
        return {"status": {"phase": "Succeeded"}}

    def text(self, _: str) -> str:
        return self.printed

    def delete(self, path: str, **_: str) -> None:
        self.deleted.append(path)


FILES = {"worker-0.1.log": "first\nline", "worker-0.2.log": "second", "worker-1.1.log": "a 5\nb", "ps-0.1.log": ""}
PRINTED = "".join(f"{name} {len(text)}\n{text}\n" for name, text in FILES.items())


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        (Choice(), {("ps", 0): [], ("worker", 0): ["second"], ("worker", 1): ["a 5", "b"]}),
        (Choice(previous=True), {("worker", 0): ["first", "line"]}),
        (Choice(role="worker", index=1, tail=1), {("worker", 1): ["b"]}),
    ],
)
def test_the_last_start_of_each_pod_is_shown_or_the_one_before(
    choice: Choice, expected: dict[tuple[str, int], list[str]]
) -> None:
    api = Reads(PRINTED)
    assert kept.lines(cast(Kube, api), _job_set(), choice) == expected
    (pod,) = api.applied
    assert api.deleted == [f"/api/v1/namespaces/ml/pods/{pod['metadata']['name']}"]


def test_the_reading_pod_only_sees_the_volume_of_the_logs_and_cannot_write() -> None:
    pod = kept.reader(_job_set(), "/models/checkpoints/logs/train-1")
    (container,) = pod["spec"]["containers"]
    assert container["volumeMounts"] == [{"name": "models", "mountPath": "/models", "readOnly": True}]
    assert [volume["name"] for volume in pod["spec"]["volumes"]] == ["models"]
    assert pod["spec"]["serviceAccountName"] == "train"
    assert "jobset" not in str(pod["metadata"]["labels"]), "it is no pod of the job"


def test_without_checkpoints_nothing_is_kept() -> None:
    job_set = _job_set()
    job_set["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]["containers"][0]["env"] = []
    api = Reads("")
    assert kept.lines(cast(Kube, api), job_set, Choice()) == {}
    assert api.applied == []
