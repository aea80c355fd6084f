"""`tensorplane runs PIPELINE` and `runs RUN`: one run in the terminal, at any width."""

from __future__ import annotations

import copy
import io
import json
import os
from typing import Any, cast

import click
import pytest
from click.testing import CliRunner
from rich.console import Console

from tensorplane.cli import stack_config
from tensorplane.cli.access import Access
from tensorplane.cli.commands import runs
from tensorplane.cli.commands.runs import ask, page_content, show
from tensorplane.cli.pipelines import details
from tensorplane.core.errors import UserError
from tensorplane.core.kube import Kube
from tensorplane.core.paths import PROJECT
from tensorplane.workloads.pipeline import run as pipeline_run
from tests.support.pipeline_runs import FIRST, RUN, SECOND, Part, Ran, at, prices, workflow

_FAILED = workflow(
    {
        "clean": Ran(
            0,
            30,
            summary={"parts": 2, "new": 2},
            parts={0: Part(5, 20), 1: Part(5, 20, "Failed")},
            failure="clean: 1 of 2 parts failed ('b.txt'), and mayFail is 0",
        ),
        "count": Ran(30, 30, omitted=True),
    },
    name="texts-3",
    phase="Failed",
    end=30,
)


class _Cluster:
    def __init__(self, *found: dict[str, Any]) -> None:
        self._runs = found

    def items(self, path: str, **_: str) -> list[dict[str, Any]]:
        return list(self._runs) if path == pipeline_run.path(pipeline_run.WORKFLOWS, "vision") else []


def _access(*found: dict[str, Any]) -> Access:
    return Access(cast(Kube, _Cluster(*found)), "vision", stack="dev", declared={"texts": {"kind": "pipeline"}})


def _printed(run: dict[str, Any], width: int, seconds: float = 130) -> list[str]:
    console = Console(file=io.StringIO(), width=width)
    found = details.of(run, [SECOND, FIRST], prices(), at(seconds))
    show.show(found, _access(run), console, at(seconds))
    return [line.rstrip() for line in cast(io.StringIO, console.file).getvalue().splitlines()]


def test_parts_without_a_partner_are_named_by_their_input() -> None:
    summary: dict[str, Any] = {"parts": 2, "new": 2, "left_out": {"texts": 1, "labels": 0}}
    lines = _printed(workflow({"clean": Ran(0, None, summary=summary)}), 160)
    assert lines[1].split()[5:8] == ["failed", "left", "out"]
    assert "clean: left out 1 part without a partner: 1 of texts" in lines


@pytest.mark.parametrize("width", [80, 160])
def test_each_stage_has_a_line_with_its_progress_eta_and_cost(width: int) -> None:
    lines = _printed(SECOND, width)
    assert lines[0] == f"{RUN}: running for 2 min, about 75 s left, $0.02 so far"
    assert lines[1].split() == [
        "stage",
        "state",
        "parts",
        "done",
        "skipped",
        "failed",
        "time",
        "ETA",
        "cost",
        "commit",
    ]
    assert lines[2].split() == ["clean", "finished", "5", "1", "3", "1", "70", "s", "-", "<$0.01", "e5f6a7"]
    assert lines[4].split() == ["embed", "running", "6", "2", "2", "0", "60", "s", "55", "s", "$0.01", "-"]
    assert lines[5].split() == ["report", "waiting", "-", "-", "-", "-", "-", "75", "s", "-", "-"]
    assert max(map(len, lines)) <= width


def test_below_the_stages_it_says_what_was_skipped_what_waits_and_where_the_logs_are() -> None:
    assert _printed(SECOND, 160)[6:] == [
        "clean: skipped 3 of 5 parts: same program, params and input as in an earlier run",
        "clean: 1 part failed, as `mayFail` allows; the version lacks what they make",
        "embed: skipped 2 of 6 parts: same program, params and input as in an earlier run",
        "embed: the pods of 1 part wait for their queue, their node or their image",
        "report: waits for count, embed",
        f"Logs: tensorplane logs {RUN}/count",
    ]


_NO_ROOM = "Unschedulable: 0/1 nodes are available: 1 Insufficient cpu."


@pytest.mark.parametrize(
    ("message", "said"),
    [(_NO_ROOM, f": {_NO_ROOM}"), ("PodInitializing", " for their queue, their node or their image")],
)
def test_why_pods_wait_is_in_kubernetes_words(message: str, said: str) -> None:
    run = copy.deepcopy(SECOND)
    for node in run["status"]["nodes"].values():
        if (node["type"], node["phase"]) == ("Pod", "Pending"):
            node["message"] = message
    found = details.of(run, [run], prices(), at(130))
    assert f"embed: the pods of 1 part wait{said}" in list(show.remarks(found))


def test_a_run_that_failed_says_why_and_what_it_left_out() -> None:
    lines = _printed(_FAILED, 160)
    assert lines[0].startswith("texts-3: failed, took 30 s, started ")
    assert lines[6:] == [
        "texts-3/clean: clean: 1 of 2 parts failed ('b.txt'), and mayFail is 0",
        "count: not run: clean failed",
        "embed: not run: clean failed",
        "report: not run: count omitted, embed omitted",
        "Logs: tensorplane logs texts-3/clean",
    ]


def test_a_run_that_nobody_has_looked_at_yet_has_a_line() -> None:
    young = {**SECOND, "status": {"phase": "Pending"}}
    assert _printed(young, 80) == [f"{RUN}: waiting"]


def _asker(monkeypatch: pytest.MonkeyPatch, *found: dict[str, Any]) -> ask.Asker:
    known = prices()
    monkeypatch.setattr(ask, "_settings", lambda _: (known.fleet, {"texts": dict(known.stages)}, ""))
    return ask.Asker(_access(*found))


def test_a_pipeline_is_its_newest_run_and_a_run_is_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    asker = _asker(monkeypatch, FIRST, SECOND)
    assert asker.details("texts", at(130)).run.name == RUN
    assert asker.details("texts", at(130)).eta_seconds == pytest.approx(75)
    assert asker.details("texts-1111111111111111", at(130)).run.state == "finished"


@pytest.mark.parametrize(
    ("found", "name", "reason"),
    [
        ([], "texts", "texts: has no run; start one with: tensorplane runs start texts"),
        (
            [FIRST],
            "text",
            r"text: no pipeline of stack dev and no run has this name; choose one of texts \(did you mean",
        ),
    ],
)
def test_what_cannot_be_shown_is_said(
    monkeypatch: pytest.MonkeyPatch, found: list[dict[str, Any]], name: str, reason: str
) -> None:
    with pytest.raises(UserError, match=f"^{reason}"):
        _asker(monkeypatch, *found).details(name, at(0))


def test_settings_with_faults_leave_the_cost_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: object) -> None:
        raise UserError("tensorplane:queues.a: unknown")

    monkeypatch.setattr(stack_config, "file", lambda _: None)
    monkeypatch.setattr(stack_config, "load", broken)
    found = ask.Asker(_access(FIRST)).details("texts", at(130))
    assert next(iter(found.unpriced))[0] == "the settings of stack dev have faults (tensorplane:queues.a: unknown)"


@pytest.mark.parametrize("words", [["texts"], ["show", "texts"]])
def test_the_name_of_a_pipeline_is_enough(monkeypatch: pytest.MonkeyPatch, words: list[str]) -> None:
    monkeypatch.setattr(Access, "of", lambda *_: _access(SECOND))
    known = prices()
    monkeypatch.setattr(ask, "_settings", lambda _: (known.fleet, {}, ""))
    done = CliRunner().invoke(cast(click.Command, runs.click_command), [*words, "--json"], catch_exceptions=False)
    assert json.loads(done.output)["name"] == RUN


def test_the_documented_picture_is_the_one_that_is_drawn() -> None:
    drawn = page_content.picture_of(details.of(SECOND, [FIRST], prices(), at(130)))
    recorded = PROJECT / "docs/run.svg"
    if os.environ.get("UPDATE_GOLDEN"):
        recorded.write_text(drawn)
    assert drawn == recorded.read_text()
