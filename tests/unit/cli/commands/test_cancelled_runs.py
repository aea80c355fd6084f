"""`tensorplane runs cancel` of a run with a stage that is a training job, which Argo does not stop."""

from __future__ import annotations

from typing import Any, cast

import pytest

from tensorplane.cli.access import Access
from tensorplane.cli.commands.runs import start
from tensorplane.components.base import jobset_paths
from tensorplane.core.errors import UserError
from tensorplane.core.kube import Kube
from tensorplane.workloads.pipeline import run as pipeline_run

_RUN = "photos-1"
_PATH = pipeline_run.path(pipeline_run.WORKFLOWS, "vision", _RUN)
_JOB_SETS = jobset_paths.in_namespace("vision")
_PODS = "/api/v1/namespaces/vision/pods"


def _job_set(name: str, *, owner: str = "u1", ended: str = "", checkpoints: bool = False) -> dict[str, Any]:
    env = [{"name": "CHECKPOINT_DIR", "value": "/c"}] if checkpoints else []
    pod = {"spec": {"terminationGracePeriodSeconds": 60, "containers": [{"name": "main", "env": env}]}}
    return {
        "metadata": {
            "name": name,
            "namespace": "vision",
            "creationTimestamp": "2026-11-26T12:00:00Z",
            "uid": name,
            "labels": {"app.kubernetes.io/name": "photos-train"},
            "ownerReferences": [{"uid": owner}],
        },
        "spec": {"replicatedJobs": [{"name": "worker", "template": {"spec": {"template": pod}}}]},
        "status": {"conditions": [{"type": ended, "status": "True"}] if ended else []},
    }


def _workflow(phase: str) -> dict[str, Any]:
    nodes = {
        "n1": {"name": "train-plan", "templateName": "train-plan", "type": "Suspend", "phase": "Succeeded"},
        "n2": {"name": "train-job", "templateName": "train-job", "type": "Pod", "phase": phase},
    }
    templates = [
        {"name": "pipeline", "dag": {"tasks": [{"name": "train-plan"}, {"name": "train"}]}},
        {"name": "train-job", "resource": {"action": "apply"}},
    ]
    return {
        "apiVersion": "argoproj.io/v1alpha1",
        "metadata": {
            "name": _RUN,
            "namespace": "vision",
            "uid": "u1",
            "labels": {"app.kubernetes.io/name": "photos"},
        },
        "spec": {},
        "status": {"phase": phase, "nodes": nodes, "storedWorkflowTemplateSpec": {"templates": templates}},
    }


class _Api:
    """A cluster whose Argo ends a run a few looks after it was cancelled, and its pods a few looks later."""

    def __init__(self, run: dict[str, Any], *job_sets: dict[str, Any], ends: bool = True) -> None:
        self.run, self.ends, self.looks = run, ends, 0
        self.job_sets = {one["metadata"]["name"]: one for one in job_sets}
        self.late: dict[str, Any] = {}
        self.deleted: list[str] = []
        self.noted: dict[str, str] = {}

    def get(self, path: str, **_: str) -> dict[str, Any] | None:
        if path != _PATH:
            return None
        self.looks += 1
        if self.ends and self.run["spec"].get("shutdown") and self.looks > 3:
            self.run["status"]["phase"] = "Failed"
        return self.run

    def items(self, path: str, **query: str) -> list[dict[str, Any]]:
        if path == _PODS:
            self.job_sets |= self.late
            phase = "Running" if self.looks < 6 else "Failed"
            about = {"annotations": {"workflows.argoproj.io/node-id": "n2"}}
            return [{"metadata": about, "status": {"phase": phase}}]
        if path != _JOB_SETS:
            return []
        assert query == {"labelSelector": "app.kubernetes.io/name=photos-train"}
        return list(self.job_sets.values())

    def apply(self, path: str, thing: dict[str, Any], manager: str) -> dict[str, Any]:
        if path == _PATH:
            assert manager == "tensorplane-runs-cancel"
            self.run["spec"] = thing["spec"]
        else:
            self.noted.update(thing["data"])
        return thing

    def delete(self, path: str, **query: str) -> None:
        assert query == {"propagationPolicy": "Foreground"}
        self.deleted.append(path.removeprefix(f"{_JOB_SETS}/"))


def _cancel(monkeypatch: pytest.MonkeyPatch, api: _Api) -> str:
    access = Access(cast(Kube, api), "vision", stack="dev", declared={})
    monkeypatch.setattr(Access, "of", lambda *_: access)
    monkeypatch.setattr(start, "_POLL_SECONDS", 0)
    return start.cancel(_RUN, "dev", "")


def test_its_job_is_stopped_also_one_that_is_created_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    api = _Api(_workflow("Running"), _job_set("old", ended="Failed"), _job_set("of-another-run", owner="u2"))
    api.late = {"new": _job_set("new", checkpoints=True)}
    assert _cancel(monkeypatch, api).splitlines() == [
        f"{_RUN}: cancelled; results of parts that are done stay for the next run",
        "new: cancelled; its pods have 60 s to save and end; its checkpoints stay",
    ]
    assert api.deleted == [*api.noted] == ["new"], "and `jobs` lists it"
    assert api.run["spec"] == {"shutdown": "Terminate"}


def test_a_job_that_goes_on_after_its_run_has_ended_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    api = _Api(_workflow("Failed"), _job_set("left"))
    api.looks = 6
    assert "left: cancelled; its pods have 60 s" in _cancel(monkeypatch, api)
    assert api.deleted == ["left"]
    assert api.run["spec"] == {}
    api.job_sets.clear()
    with pytest.raises(UserError, match=f"^{_RUN}: has failed already, so there is nothing to cancel$"):
        _cancel(monkeypatch, api)


def test_a_run_that_does_not_end_is_not_called_cancelled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(start, "_SECONDS_TO_END", 0)
    api = _Api(_workflow("Running"), _job_set("new"), ends=False)
    with pytest.raises(
        UserError, match=f"^{_RUN}: is still being stopped, and its jobs go on meanwhile; cancel it again"
    ):
        _cancel(monkeypatch, api)
    assert not api.deleted


def test_a_job_is_stopped_though_argos_pod_does_not_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(start, "_SECONDS_TO_END", 0)
    api = _Api(_workflow("Failed"), _job_set("left"))
    assert "left: cancelled" in _cancel(monkeypatch, api)
    assert api.deleted == ["left"]
