"""`tensorplane logs PIPELINE/STAGE`: whose lines come, in which order, and what is said without lines."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from typing import Any, cast

import pytest
from rich.console import Console

from tensorplane.cli.access import Access
from tensorplane.cli.commands.logs import command as logs
from tensorplane.cli.commands.logs import follow, stage
from tensorplane.cli.commands.logs.pods import LogsOptions
from tensorplane.cli.pipelines import pods
from tensorplane.core.errors import UserError
from tensorplane.core.kube import Kube
from tensorplane.workloads.pipeline import run as pipeline_run
from tests.support import pipeline_runs
from tests.support.pipeline_runs import FIRST, RUN, SECOND, Part, Ran

_OF_ARGO = 'time="2026-11-26T12:00:01" level=info msg="sub-process exited" argo=true error="<nil>"'


@pytest.fixture(autouse=True)
def looks_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """What follows lines has nothing to wait for here."""
    monkeypatch.setattr(follow, "_LOOK_SECONDS", 0.01)


class _Cluster:
    """A cluster with these runs and their pods, each of which has printed its name and container."""

    def __init__(self, *runs: dict[str, Any], pods: list[dict[str, Any]] | None = None) -> None:
        self._runs = {one["metadata"]["name"]: one for one in runs}
        self._pods = [pod for run in runs for pod in pipeline_runs.pods(run)] if pods is None else pods

    def get(self, path: str) -> dict[str, Any] | None:
        return self._runs.get(path.rpartition("/")[2])

    def items(self, path: str, **query: str) -> list[dict[str, Any]]:
        if path == pipeline_run.path(pipeline_run.WORKFLOWS, "vision"):
            return list(self._runs.values())
        selected = [part.split("=") for part in query.get("labelSelector", "").split(",")]
        found = self._pods if path.endswith("/pods") else []
        return [one for one in found if all(one["metadata"]["labels"].get(key) == value for key, value in selected)]

    def text(self, path: str, *, container: str, **_: str) -> str:
        of_program = f"{container} of {path.split('/')[-2].rpartition('-')[0]}"
        return "\n".join((_OF_ARGO, of_program, "Error: exit status 1"))

    def lines(self, path: str, **query: str) -> Iterator[str]:
        yield from self.text(path, container=query["container"]).splitlines()


def _access(*runs: dict[str, Any], **more: Any) -> Access:
    declared: Mapping[str, Any] = {"texts": {"kind": "pipeline"}, "digits": {"kind": "trainingJob"}}
    return Access(cast(Kube, _Cluster(*runs, **more)), "vision", stack="dev", declared=declared)


def _printed(access: Access, target: str, choice: LogsOptions | None = None, *, follows: bool = False) -> list[str]:
    console = Console(file=io.StringIO(), width=200)
    logs.run(access, target, choice or LogsOptions(), console, follows=follows)
    return cast(io.StringIO, console.file).getvalue().splitlines()


def test_the_lines_of_a_stage_come_in_the_order_of_its_work_without_those_of_argo() -> None:
    assert _printed(_access(FIRST), "texts/count") == [
        "plan   │ parts=1 new=1",
        "part-0 │ main of texts-1111111111111111-count-work",
        "part-0 │ keep of texts-1111111111111111-count-work",
        "commit │ committed=b2c3d4",
    ]


def test_the_newest_run_is_meant_unless_another_is_named() -> None:
    access = _access(FIRST, SECOND)
    part = LogsOptions(role="part")
    assert {line.split()[-1] for line in _printed(access, "texts/count", part)} == {f"{RUN}-count-work"}
    of_first = _printed(access, "texts-1111111111111111/count", part)
    assert {line.split()[-1] for line in of_first} == {"texts-1111111111111111-count-work"}


def test_a_part_and_a_step_can_be_chosen() -> None:
    part = _printed(_access(SECOND), "texts/clean", LogsOptions(index=3))
    assert part == [f"{container} of {RUN}-clean-work" for container in ("main", "keep")]
    assert _printed(_access(SECOND), "texts/embed", LogsOptions(role="plan")) == ["parts=6 unchanged=2 new=4"]
    # The first part had one try.
    assert len(_printed(_access(SECOND), "texts/clean", LogsOptions(role="part", previous=True))) == 2 + 2


@pytest.mark.parametrize(
    ("choice", "reason"),
    [
        (
            LogsOptions(role="parts"),
            r"--role: .*/embed has no pod of role parts; choose one of plan, part .did you mean part",
        ),
        (LogsOptions(index=7), r"--index: .*/embed has no pod of index 7; choose one of 0, 1, 2, 5"),
    ],
)
def test_a_wrong_choice_names_what_there_is(choice: LogsOptions, reason: str) -> None:
    with pytest.raises(UserError, match=reason):
        _printed(_access(SECOND), "texts/embed", choice)


def test_why_a_part_failed_comes_first() -> None:
    lines = _printed(_access(SECOND), "texts/clean")
    assert lines[0].endswith(": exit code 1")
    assert f"{RUN}-clean-work" in lines[0]
    assert lines[1] == "  work(4:item:4)(2) broke"
    assert lines[2].startswith("plan   │")


def test_why_the_version_was_not_made_comes_before_the_part() -> None:
    failed = Ran(
        0,
        30,
        summary={"parts": 2, "new": 2},
        parts={0: Part(5, 20), 1: Part(5, 20, "Failed")},
        failure="clean: 1 of 2 parts failed ('b.txt'), and mayFail is 0",
    )
    run = pipeline_runs.workflow({"clean": failed}, phase="Failed", end=30)
    lines = _printed(_access(run), "texts/clean")
    assert lines[0] == f"{RUN}/clean: clean: 1 of 2 parts failed ('b.txt'), and mayFail is 0"
    assert lines[1].endswith(": exit code 1")
    with pytest.raises(UserError, match=f"^{RUN}/clean: failed$"):
        _printed(_access(run), "texts/clean", follows=True)


def test_following_ends_with_the_stage_and_says_its_commit() -> None:
    lines = _printed(_access(SECOND), "texts/clean", follows=True)
    assert lines[-1] == f"{RUN}/clean: finished; commit e5f6a7"
    parts = [line for line in lines if line.startswith("part-4 │ main")]
    assert len(parts) == 3, "of a part that is tried again, all tries are followed"


def test_following_tells_of_the_plan_and_the_commit_too() -> None:
    lines = _printed(_access(FIRST), "texts/count", follows=True)
    assert {"plan   │ parts=1 new=1", "commit │ committed=b2c3d4"} <= {*lines}
    of_part = _printed(_access(FIRST), "texts/count", LogsOptions(role="part"), follows=True)
    assert not [line for line in of_part if line.startswith(("plan", "commit"))]


def test_a_pod_of_which_the_workflow_does_not_tell_yet_is_left_out() -> None:
    there = pipeline_runs.pods(SECOND)
    there[0]["metadata"]["annotations"]["workflows.argoproj.io/node-id"] = "other"
    api = cast(Kube, _Cluster(SECOND, pods=there))
    every = pods.of(cast(Kube, _Cluster(SECOND)), SECOND, "clean")
    assert len(pods.of(api, SECOND, "clean")) == len(every) - 1


_PENDING = {**pipeline_runs.workflow({}), "status": {"phase": "Pending"}}


@pytest.mark.parametrize(
    ("runs", "target", "reason"),
    [
        ([], "texts/clean", "texts: has no run; start one with: tensorplane runs start texts"),
        ([SECOND], "texts", "texts: is a pipeline; choose one of texts/clean, texts/count, texts/embed, texts/report"),
        ([SECOND], "texts/cleen", rf"texts/cleen: {RUN} has no such stage; .*did you mean clean"),
        ([SECOND], "texts/report", rf"{RUN}/report: has not begun, so it has no pods; look with: .*runs list texts"),
        ([_PENDING], "texts/clean", rf"{RUN}: has not begun, so it has no pods; look with: .*runs list texts"),
    ],
)
def test_without_lines_it_says_why(runs: list[dict[str, Any]], target: str, reason: str) -> None:
    with pytest.raises(UserError, match=f"^{reason}"):
        _printed(_access(*runs), target)


def test_pods_that_argo_has_deleted_are_no_riddle() -> None:
    lines = _printed(_access(FIRST, pods=[]), "texts/count")
    assert lines[:2] == ["plan   │ parts=1 new=1", "commit │ committed=b2c3d4"]
    deleted = "its pods are deleted, as those of a run are an hour after it has finished"
    assert deleted in lines[2]
    with pytest.raises(UserError, match=deleted):
        _printed(_access(FIRST, pods=[]), "texts/count", LogsOptions(role="part"))
    with pytest.raises(UserError, match="no pod of it was tried again"):
        _printed(_access(FIRST), "texts/count", LogsOptions(previous=True))


def test_what_is_no_pipeline_is_left_to_jobs() -> None:
    assert stage.find_stage(_access(FIRST), "ml/train-1") is None
    assert stage.find_stage(_access(FIRST), "digits") is None


# LOOK
