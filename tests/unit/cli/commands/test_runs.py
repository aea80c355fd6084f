"""`tensorplane runs`: what Argo's Workflows say of each stage, and which Workflow a start creates."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, cast

import pytest
from rich.console import Console

from cli.access import Access
from cli.commands.runs import start, tables
from cli.pipelines import listed
from components.base.labels import PIPELINE, SOURCES
from driver.kube import Kube
from embedded.fault import Fault
from workloads.manifests import pipeline_run

_NOW = datetime(2026, 11, 26, 12, 10, tzinfo=UTC)
_TEMPLATE: dict[str, Any] = {
    "metadata": {
        "name": "photos",
        "namespace": "vision",
        "labels": {"app.kubernetes.io/name": "photos"},
        "annotations": {PIPELINE: "abc", SOURCES: json.dumps({"raw": {"dataset": "raw", "branch": "main"}})},
    }
}


def _node(template: str, kind: str, phase: str, **more: Any) -> dict[str, Any]:
    outputs = {"parameters": [{"name": name, "value": value} for name, value in more.pop("outputs", {}).items()]}
    start = {"startedAt": "2026-11-26T12:00:00Z"}
    return {
        "name": template,
        "templateName": template,
        "type": kind,
        "phase": phase,
        "outputs": outputs,
        **start,
        **more,
    }


_NODES = [
    _node("run", "DAG", "Running"),
    _node("prepare-plan", "Suspend", "Succeeded", outputs={"summary": json.dumps({"parts": 5, "unchanged": 2})}),
    _node("prepare", "DAG", "Running"),
    # One result is there, and its pod is not known to have ended.
    *(_node("prepare-work", "Retry", phase) for phase in ("Running", "Succeeded", "Failed")),
    _node("prepare-work", "Pod", "Failed"),
    _node(
        "prepare-commit",
        "Suspend",
        "Succeeded",
        finishedAt="2026-11-26T12:01:30Z",
        outputs={"version": "c0ffee", "summary": json.dumps({"parts": 5, "done": 2, "skipped": 2, "failed": 1})},
    ),
    _node("train-plan", "Suspend", "Running", startedAt="2026-11-26T12:01:30Z"),
]


def _workflow(name: str = "photos-1", *, packed: bool = False, **status: Any) -> dict[str, Any]:
    nodes = {str(number): node for number, node in enumerate(_NODES)}
    kept = {"compressedNodes": base64.b64encode(gzip.compress(json.dumps(nodes).encode())).decode()}
    return {
        "apiVersion": "argoproj.io/v1alpha1",
        "metadata": {
            "name": name,
            "labels": {"app.kubernetes.io/name": "photos"},
            "creationTimestamp": "2026-11-26T12:00:00Z",
        },
        "spec": {},
        "status": {
            "phase": "Running",
            "startedAt": "2026-11-26T12:00:00Z",
            **(kept if packed else {"nodes": nodes}),
            **status,
        },
    }


class _Api:
    """A cluster with these objects, by path."""

    def __init__(self, *objects: tuple[str, dict[str, Any]]) -> None:
        self.objects, self.deleted = dict(objects), list[str]()

    def get(self, path: str, **_: str) -> dict[str, Any] | None:
        return self.objects.get(path)

    def items(self, path: str, **_: str) -> list[dict[str, Any]]:
        return [thing for key, thing in self.objects.items() if key.startswith(f"{path}/")]

    def apply(self, path: str, thing: dict[str, Any], manager: str) -> dict[str, Any]:
        self.objects[path] = {**self.objects.get(path, {}), **thing}
        return thing

    def delete(self, path: str, **_: str) -> None:
        self.deleted.append(path)
        del self.objects[path]


def _access(*objects: tuple[str, dict[str, Any]]) -> Access:
    declared = {"photos": {"kind": "pipeline"}, "other": {"kind": "trainingJob"}}
    return Access(cast(Kube, _Api(*objects)), "vision", stack="dev", declared=declared)


def _path(name: str) -> str:
    return pipeline_run.path(pipeline_run.WORKFLOWS, "vision", name)


@pytest.mark.parametrize("packed", [False, True])
def test_stages_say_what_is_done_skipped_and_failed(packed: bool, capsys: pytest.CaptureFixture[str]) -> None:
    access = _access((_path("photos-1"), _workflow(packed=packed)))
    tables.show(access, None, Console(width=120), everything=False, as_json=True)
    (run,) = json.loads(capsys.readouterr().out)
    assert (run["name"], run["pipeline"], run["state"]) == ("photos-1", "photos", "running")
    prepare, train = run["stages"]
    assert prepare == {
        "stage": "prepare",
        "state": "finished",
        "parts": 5,
        "done": 2,
        "running": 0,
        "pending": 0,
        "pending_why": "",
        "skipped": 2,
        "former": 0,
        "failed": 1,
        "left_out": {},
        "began": "2026-11-26T12:00:00+00:00",
        "seconds": 90.0,
        "working_seconds": None,
        "commit": "c0ffee",
        "why": "",
    }
    assert (train["stage"], train["state"], train["parts"]) == ("train", "running", None)


def test_the_table_has_a_line_for_each_stage(capsys: pytest.CaptureFixture[str]) -> None:
    tables.show(_access((_path("photos-1"), _workflow())), None, Console(width=120), everything=False, as_json=False)
    lines = [line.split() for line in capsys.readouterr().out.splitlines() if line.strip()]
    assert lines[0] == ["run", "stage", "state", "parts", "done", "skipped", "failed", "time", "age"]
    assert lines[-2][:8] == ["photos-1", "prepare", "finished", "5", "2", "2", "1", "90"]
    assert lines[-1][:6] == ["train", "running", "-", "-", "-", "-"]


def _joined(parts: int, **left_out: int) -> dict[str, Any]:
    """A run whose join has left parts out."""
    summary = json.dumps({"parts": parts, "left_out": left_out})
    found = _workflow()
    found["status"]["nodes"] = {"a": _node("prepare-plan", "Suspend", "Succeeded", outputs={"summary": summary})}
    return found


def test_parts_without_a_partner_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    access = _access((_path("photos-1"), _joined(2, sheets=3, labels=1)))
    tables.show(access, None, Console(width=120), everything=False, as_json=False)
    lines = [line.split() for line in capsys.readouterr().out.splitlines() if line.strip()]
    assert " ".join(lines[0]) == "run stage state parts done skipped failed left out time age"
    assert lines[-1][3:8] == ["2", "0", "0", "0", "4"]


def test_a_join_that_found_nothing_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    access = _access((_path("photos-1"), _joined(0, sheets=3, labels=0)))
    tables.show(access, None, Console(width=200), everything=False, as_json=False)
    said = "the join found nothing, so there is no part to work on: 0 of labels and 3 of sheets have no partner"
    assert capsys.readouterr().out.splitlines()[-1] == f"photos-1/prepare: {said}; compare their names"


def test_why_a_run_failed_is_told_once(capsys: pytest.CaptureFixture[str]) -> None:
    failed = _workflow(phase="Failed", message="child failed")
    assert list(tables.reasons(listed.runs([failed], _NOW)[0])) == ["photos-1: child failed"]
    plan = _node("prepare-plan", "Suspend", "Succeeded")
    commit = _node("prepare-commit", "Suspend", "Failed", message="'a': two files\nand 1 more")
    clean = _node("prepare-clean", "Skipped", "Omitted")
    failed["status"]["nodes"] = {"a": plan, "b": commit, "c": clean}
    (run,) = listed.runs([failed], _NOW)
    assert run.stages[0].state == "failed"
    assert list(tables.reasons(run)) == ["photos-1/prepare: 'a': two files and 1 more"]


def test_older_runs_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    many = [(_path(f"photos-{number}"), _workflow(f"photos-{number}")) for number in range(7)]
    tables.show(_access(*many), None, Console(width=120), everything=False, as_json=False)
    assert "2 older runs; list them with: tensorplane runs list --all" in capsys.readouterr().out


def test_without_runs_it_says_how_to_start_one(capsys: pytest.CaptureFixture[str]) -> None:
    tables.show(_access(), "photos", Console(width=120), everything=False, as_json=False)
    assert capsys.readouterr().out == "There is no run; start one with: tensorplane runs start photos\n"


def test_the_same_pipeline_on_the_same_versions_is_one_run() -> None:
    first = pipeline_run.workflow(_TEMPLATE, {"raw": "1"})
    assert first["metadata"]["name"] == pipeline_run.workflow(_TEMPLATE, {"raw": "1"})["metadata"]["name"]
    assert first["spec"] == {
        "workflowTemplateRef": {"name": "photos"},
        "arguments": {"parameters": [{"name": "raw", "value": "1"}]},
    }
    about = _TEMPLATE["metadata"]
    changed = {"metadata": {**about, "annotations": {**about["annotations"], PIPELINE: "other"}}}
    others = [pipeline_run.workflow(_TEMPLATE, {"raw": "2"}), pipeline_run.workflow(changed, {"raw": "1"})]
    assert len({one["metadata"]["name"] for one in (first, *others)}) == 3


@pytest.mark.parametrize(
    ("status", "said", "deleted"),
    [
        (None, "started; watch it with: tensorplane runs", False),
        ({"phase": "Running"}, "is running already; watch it with: tensorplane runs", False),
        ({"phase": "Succeeded"}, "has finished already; commit a new version for another run", False),
        (
            {"phase": "Failed"},
            "started again; parts that are done are not repeated; watch it with: tensorplane runs",
            True,
        ),
    ],
)
def test_a_start_creates_a_run_unless_it_is_there(status: Mapping[str, Any] | None, said: str, deleted: bool) -> None:
    wanted = pipeline_run.workflow(_TEMPLATE, {"raw": "1"})
    name = wanted["metadata"]["name"]
    access = _access(*([(_path(name), _workflow(name, **status))] if status else []))
    assert start.submit(access, wanted) == f"{name}: {said}"
    api = cast(_Api, access.api)
    assert bool(api.deleted) == deleted
    created = status is None or deleted
    assert ("workflowTemplateRef" in api.objects[_path(name)]["spec"]) == created


def _use(monkeypatch: pytest.MonkeyPatch, access: Access) -> None:
    monkeypatch.setattr(Access, "of", lambda *_: access)


def test_a_run_is_cancelled_by_argo(monkeypatch: pytest.MonkeyPatch) -> None:
    access = _access((_path("photos-1"), _workflow()))
    _use(monkeypatch, access)
    said = "photos-1: cancelled; results of parts that are done stay for the next run"
    assert start.cancel("photos-1", "dev", "") == said
    assert cast(_Api, access.api).objects[_path("photos-1")]["spec"] == {"shutdown": "Terminate"}


@pytest.mark.parametrize(
    ("run", "reason"),
    [
        ("photos-2", r"photos-2: no run has this name; choose one of photos-1 \(did you mean photos-1\?\)"),
        ("photos-1", "photos-1: has finished already, so there is nothing to cancel"),
    ],
)
def test_what_cannot_be_cancelled_is_said(monkeypatch: pytest.MonkeyPatch, run: str, reason: str) -> None:
    _use(monkeypatch, _access((_path("photos-1"), _workflow(phase="Succeeded"))))
    with pytest.raises(Fault, match=f"^{reason}$"):
        start.cancel(run, "dev", "")


@pytest.mark.parametrize(
    ("pipeline", "reason"),
    [
        ("photos", "photos: is not deployed yet; deploy it with: make up"),
        ("photo", r"photo: no pipeline of stack dev has this name; choose one of photos \(did you mean photos\?\)"),
    ],
)
def test_what_cannot_be_started_is_said(monkeypatch: pytest.MonkeyPatch, pipeline: str, reason: str) -> None:
    _use(monkeypatch, _access())
    with pytest.raises(Fault, match=f"^{reason}$"):
        start.run(pipeline, "dev", "", "default")
