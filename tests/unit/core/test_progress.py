"""What the progress display says, on a terminal and in a log."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from tensorplane.core import progress as module
from tensorplane.core.progress import Progress
from tests.support.waiting import eventually


def test_a_log_gets_a_line_when_a_step_starts_and_ends_with_what_is_left() -> None:
    sink = io.StringIO()
    with Progress(Console(file=sink, force_terminal=False)) as progress:
        progress.plan(["first", "second"])
        with progress.step("first"):
            pass
    started, done = sink.getvalue().splitlines()
    assert started.endswith(" first: started")
    assert " first: done in " in done and done.endswith("left: second")


def test_a_failed_step_says_so_and_has_no_duration() -> None:
    sink = io.StringIO()
    with pytest.raises(ValueError), Progress(Console(file=sink, force_terminal=False)) as progress, progress.step("it"):
        raise ValueError
    assert " it: stopped after " in sink.getvalue()
    assert progress.durations == {}


def test_a_quiet_log_says_now_and_then_where_a_step_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "HEARTBEAT_SECONDS", 0.05)
    sink = io.StringIO()
    with Progress(Console(file=sink, force_terminal=False)) as progress, progress.step("build") as step:
        step.note("compiling kubelet")
        step.advance(120, 3000)
        eventually(lambda: "compiling kubelet (120 of 3000)" in sink.getvalue())


@pytest.mark.parametrize("terminal", [True, False])
def test_what_a_step_prints_stays(terminal: bool) -> None:
    sink = io.StringIO()
    with Progress(Console(file=sink, force_terminal=terminal)) as progress, progress.step("build") as step:
        step.note("asking a host")
        step.print("no answer; building")
    assert " build: no answer; building\n" in sink.getvalue()


def test_a_terminal_shows_what_runs_and_what_is_left() -> None:
    console = Console(file=io.StringIO(), force_terminal=True, width=100, record=True)
    with Progress(console) as progress:
        progress.plan(["build", "image train"])
        with progress.step("build") as step:
            step.note("compiling [kubelet]")
            step.advance(1, 2)
            console.print(progress._table())
    shown = console.export_text()
    assert "compiling [kubelet]" in shown
    assert "left: image train" in shown
    assert "✓ build" in shown
