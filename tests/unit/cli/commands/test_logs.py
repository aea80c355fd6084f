"""`tensorplane logs`: which pods, and lines of pods that are deleted."""

from __future__ import annotations

import io
from typing import Any, cast

import pytest
from rich.console import Console

from tensorplane.cli.commands.logs import deleted_pods, follow, pods
from tensorplane.cli.commands.logs.pods import LogsOptions
from tensorplane.cli.training_jobs import jobset_api
from tensorplane.core.errors import UserError
from tensorplane.core.kube import Kube


def _pod(role: str, index: int, *states: str) -> dict[str, Any]:
    labels = {
        "jobset.sigs.k8s.io/replicatedjob-name": role,
        "batch.kubernetes.io/job-completion-index": str(index),
    }
    about = {"name": f"train-1-{role}-0-{index}-x", "labels": labels, "creationTimestamp": "2026-11-25T10:00:00Z"}
    return {"metadata": about, "status": {"containerStatuses": [{"state": {state: {}}} for state in states]}}


PODS = [_pod("worker", 1, "running"), _pod("ps", 0, "waiting"), _pod("worker", 0, "terminated")]


def _members(choice: LogsOptions) -> list[tuple[str, int]]:
    return [jobset_api.role_and_index(pod) for pod in pods.chosen(PODS, choice)]


def test_pods_come_by_role_and_index() -> None:
    assert _members(LogsOptions()) == [("ps", 0), ("worker", 0), ("worker", 1)]
    assert _members(LogsOptions(role="worker")) == [("worker", 0), ("worker", 1)]
    assert _members(LogsOptions(role="worker", index=1)) == [("worker", 1)]
    assert [pods.has_started(pod) for pod in pods.chosen(PODS, LogsOptions())] == [False, True, True]


@pytest.mark.parametrize(
    ("choice", "reason"),
    [
        (LogsOptions(role="workers"), "--role: the job has no role workers; it has ps, worker .did you mean worker?."),
        (LogsOptions(index=2), "--index: no pod has index 2; the last one is 1"),
    ],
)
def test_a_wrong_choice_names_what_there_is(choice: LogsOptions, reason: str) -> None:
    with pytest.raises(UserError, match=reason):
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
        (LogsOptions(), {("ps", 0): [], ("worker", 0): ["second"], ("worker", 1): ["a 5", "b"]}),
        (LogsOptions(previous=True), {("worker", 0): ["first", "line"]}),
        (LogsOptions(role="worker", index=1, tail=1), {("worker", 1): ["b"]}),
    ],
)
def test_the_last_start_of_each_pod_is_shown_or_the_one_before(
    choice: LogsOptions, expected: dict[tuple[str, int], list[str]]
) -> None:
    api = Reads(PRINTED)
    assert deleted_pods.lines(cast(Kube, api), _job_set(), choice) == expected
    (pod,) = api.applied
    assert api.deleted == [f"/api/v1/namespaces/ml/pods/{pod['metadata']['name']}"]


def test_without_checkpoints_nothing_is_kept() -> None:
    job_set = _job_set()
    job_set["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]["containers"][0]["env"] = []
    api = Reads("")
    assert deleted_pods.lines(cast(Kube, api), job_set, LogsOptions()) == {}
    assert api.applied == []


def test_the_end_of_a_job_says_where_its_model_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(follow, "_LOOK_SECONDS", 0.01)
    container: dict[str, Any] = {"env": [{"name": "MODEL_DIR", "value": "/models/vision/train"}]}
    template = {"spec": {"template": {"spec": {"containers": [container]}}}}
    job_set = {
        "metadata": {"name": "train-1", "namespace": "vision"},
        "spec": {"replicatedJobs": [{"name": "worker", "template": template}]},
        "status": {"conditions": [{"type": "Completed", "status": "True"}]},
    }
    ended = _pod("worker", 0, "terminated")
    api = cast(Kube, _Ended(job_set, ended))
    told = Console(file=io.StringIO(), width=30)
    follow.until_end(api, job_set, LogsOptions(), told)
    assert cast(io.StringIO, told.file).getvalue() == "train-1: finished\n"
    message = '{"published": {"version": "train/3"}}'
    ended["status"]["containerStatuses"] = [{"state": {"terminated": {"exitCode": 0, "message": message}}}]
    told = Console(file=io.StringIO(), width=30)
    follow.until_end(api, job_set, LogsOptions(), told)
    expected = "train-1: finished; model version 3 in /models/vision/train"
    assert cast(io.StringIO, told.file).getvalue() == f"{expected}\n"
    publishes = ("launch", "--on-success", "1", "true", "--publish-to", "/models/digits", "python3", "train.py")
    container["command"] = ["python3", "/tensorplane.zip", *publishes]
    told = Console(file=io.StringIO(), width=30)
    follow.until_end(api, job_set, LogsOptions(), told)
    assert cast(io.StringIO, told.file).getvalue() == f"{expected}, published to /models/digits\n"


class _Ended:
    """An API server with a job that has ended, and its pod, which has printed nothing."""

    def __init__(self, job_set: dict[str, Any], pod: dict[str, Any]) -> None:
        self._job_set = job_set
        self._pod = {**pod, "metadata": {**pod["metadata"], "uid": "1", "namespace": "vision"}}
        self._pod["status"] = pod["status"]

    def get(self, path: str) -> dict[str, Any]:
        return self._job_set

    def items(self, path: str, **_: str) -> list[dict[str, Any]]:
        return [self._pod]

    def lines(self, path: str, **_: str) -> list[str]:
        return []
