"""`tensorplane runs`: what Argo's Workflows say of each stage, and which Workflow a start creates."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, cast

import pytest
from rich.console import Console

from tensorplane.cli.access import Access
from tensorplane.cli.commands.data import remote
from tensorplane.cli.commands.runs import newest, start, tables
from tensorplane.cli.pipelines import listing
from tensorplane.components.base.labels import PIPELINE, SOURCES, STAGE
from tensorplane.components.base.names import digest_of
from tensorplane.core.errors import UserError
from tensorplane.core.kube import Kube
from tensorplane.workloads.pipeline import run as pipeline_run

_NOW = datetime(2026, 11, 26, 12, 10, tzinfo=UTC)
_TEMPLATE: dict[str, Any] = {
    "metadata": {
        "name": "photos",
        "namespace": "vision",
        "labels": {"app.kubernetes.io/name": "photos"},
        "annotations": {PIPELINE: "abc", SOURCES: json.dumps({"raw": {"dataset": "raw", "branch": "main"}})},
    },
    "spec": {
        "templates": [
            {"name": "pipeline"},
            {"name": "prepare", "metadata": {"annotations": {STAGE: json.dumps({"dataset": "made"})}}},
        ]
    },
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
    said = "the join found nothing: 3 of sheets have no partner"
    assert capsys.readouterr().out.splitlines()[-1] == f"photos-1/prepare: {said}; compare their names"


def test_why_a_run_failed_is_told_once(capsys: pytest.CaptureFixture[str]) -> None:
    failed = _workflow(phase="Failed", message="child failed")
    assert list(tables.reasons(listing.list_runs([failed], _NOW)[0])) == ["photos-1: child failed"]
    plan = _node("prepare-plan", "Suspend", "Succeeded")
    commit = _node("prepare-commit", "Suspend", "Failed", message="'a': two files\nand 1 more")
    clean = _node("prepare-clean", "Skipped", "Omitted")
    failed["status"]["nodes"] = {"a": plan, "b": commit, "c": clean}
    (run,) = listing.list_runs([failed], _NOW)
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
    first = pipeline_run.workflow(_TEMPLATE, {"raw": "1"}, {"made": ""})
    again = pipeline_run.workflow(_TEMPLATE, {"raw": "1"}, {"made": ""})
    assert first["metadata"]["name"] == again["metadata"]["name"]
    assert first["spec"] == {
        "workflowTemplateRef": {"name": "photos"},
        "arguments": {"parameters": [{"name": "raw", "value": "1"}]},
    }
    others = [
        pipeline_run.workflow(_TEMPLATE, {"raw": "2"}, {"made": ""}),
        pipeline_run.workflow(_TEMPLATE, {"raw": "1"}, {"made": "c1"}),
        pipeline_run.workflow(_changed("other"), {"raw": "1"}, {"made": ""}),
    ]
    assert len({one["metadata"]["name"] for one in (first, *others)}) == 4


def _changed(digest: str) -> dict[str, Any]:
    """The pipeline with another program."""
    about = _TEMPLATE["metadata"]
    return {**_TEMPLATE, "metadata": {**about, "annotations": {**about["annotations"], PIPELINE: digest}}}


def test_a_pipeline_makes_versions_of_the_outputs_of_its_stages() -> None:
    assert pipeline_run.outputs(_TEMPLATE) == ["made"]


class _Runs:
    """A cluster with runs of one pipeline, each of which has made versions of its output."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.access, self.log = _access(), list[dict[str, Any]]()
        monkeypatch.setattr(newest, "read", lambda *_: ({"raw": "1"}, {"made": self.log}))

    def start(self, digest: str) -> tuple[str, str]:
        """The run that a start is about, and what is said of it."""
        name, _, said = start.start(self.access, cast(Any, None), _changed(digest), "default").partition(": ")
        return name, said.partition(";")[0]

    def end(self, name: str, phase: str, *, made: bool = True) -> None:
        """A run ends in this phase."""
        api = cast(_Api, self.access.api)
        api.objects[_path(name)] = _workflow(name, phase=phase)
        if made:
            self.log.insert(0, {"id": f"c{len(self.log)}", "provenance": {"run": name}})


def test_a_change_that_is_taken_back_is_another_run_of_the_former_program(monkeypatch: pytest.MonkeyPatch) -> None:
    runs, names = _Runs(monkeypatch), list[str]()
    for digest in ("1", "2", "1", "2"):
        name, said = runs.start(digest)
        assert said == "started"
        runs.end(name, "Succeeded")
        assert runs.start(digest) == (name, "has finished already")
        names.append(name)
    assert len({*names}) == 4


def test_a_version_whose_run_was_deleted_is_not_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = _Runs(monkeypatch)
    name, _ = runs.start("1")
    runs.end(name, "Succeeded")
    del cast(_Api, runs.access.api).objects[_path(name)]
    assert runs.start("1") == (name, "has finished already")


def test_a_run_of_a_version_before_this_one_has_made_what_it_made(monkeypatch: pytest.MonkeyPatch) -> None:
    former = f"photos-{digest_of(['1', {'raw': '1'}], 16)}"
    runs = _Runs(monkeypatch)
    runs.end(former, "Succeeded")
    assert runs.start("1") == (former, "has finished already")


@pytest.mark.parametrize("phase", ["Failed", "Error"])
def test_a_run_that_failed_after_some_of_its_versions_starts_again_by_its_name(
    monkeypatch: pytest.MonkeyPatch, phase: str
) -> None:
    runs = _Runs(monkeypatch)
    name, _ = runs.start("1")
    runs.end(name, phase)
    assert runs.start("1") == (name, "started again")
    assert cast(_Api, runs.access.api).deleted == [_path(name)]


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_what_a_run_has_made_is_not_started_while_another_one_will_replace_it(
    monkeypatch: pytest.MonkeyPatch, phase: str
) -> None:
    runs = _Runs(monkeypatch)
    name, _ = runs.start("1")
    runs.end(name, phase)
    other, _ = runs.start("2")
    runs.end(other, "Running", made=False)
    with pytest.raises(UserError) as refused:
        runs.start("1")
    assert f"{refused.value}" == f"{other}: is running and will replace the outputs; start again once it has ended"
    assert not cast(_Api, runs.access.api).deleted


def test_a_run_that_goes_on_is_no_second_one_whatever_it_replaces(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = _Runs(monkeypatch)
    name, _ = runs.start("2")
    runs.end(name, "Running", made=False)
    runs.log.insert(0, {"id": "by hand", "provenance": {}})
    assert runs.start("2") == (name, "is running already")


def test_an_output_that_somebody_else_committed_to_is_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = _Runs(monkeypatch)
    name, _ = runs.start("1")
    runs.end(name, "Succeeded")
    runs.log.insert(0, {"id": "by hand", "provenance": {}})
    other, said = runs.start("1")
    assert (said, other == name) == ("started", False)


def test_versions_and_outputs_are_read_in_one_pod_of_each_volume(monkeypatch: pytest.MonkeyPatch) -> None:
    opened, logs = list[str](), {"raw": [{"id": "1"}], "made": [{"id": "2"}], "empty": []}

    class Dataset:
        def __init__(self, name: str) -> None:
            self.name, self.pod = name, "pod"

        def ask(self, verb: str, asked: Mapping[str, Any] | None = None) -> Any:
            log = logs[self.name]
            heads = {"main": log[0]} if log else {}
            return {"branches": heads} if verb == "branches" else [{"commit": one} for one in log]

    @contextmanager
    def running(_api: Any, _resolved: Any, question: Any, _args: Any, **_: Any) -> Iterator[Dataset]:
        opened.append(question.dataset)
        yield Dataset(question.dataset)

    monkeypatch.setattr(remote, "running", running)
    monkeypatch.setattr(remote, "in_pod", lambda _api, _pod, _resolved, name: Dataset(name))
    volumes = {"raw": "data", "made": "data", "empty": "more"}
    declared = {name: SimpleNamespace(volume=volume) for name, volume in volumes.items()}
    monkeypatch.setattr(remote, "declared", lambda _, name: declared[name])
    monkeypatch.setattr(pipeline_run, "outputs", lambda _: ["empty", "made"])
    found = newest.read(_access(), cast(Any, None), _TEMPLATE, "default")
    assert found == ({"raw": "1"}, {"empty": [], "made": [{"id": "2"}]})
    assert opened == ["empty", "made"]
    logs["raw"] = []
    with pytest.raises(UserError, match="raw: branch main has no version; commit one with: tensorplane data put raw"):
        newest.read(_access(), cast(Any, None), _TEMPLATE, "default")


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
    with pytest.raises(UserError, match=f"^{reason}$"):
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
    with pytest.raises(UserError, match=f"^{reason}$"):
        start.run(pipeline, "dev", "", "default")
