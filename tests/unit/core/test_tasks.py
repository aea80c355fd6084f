"""The parallel runner and the programs that it starts: order, failure, Ctrl-C, logs."""

from __future__ import annotations

import io
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.console import Console

from tensorplane.core.errors import UserError
from tensorplane.core.paths import PROJECT
from tensorplane.core.progress import Progress
from tensorplane.core.step import Step
from tensorplane.core.tasks import Task, command, run_all
from tests.support.waiting import PATIENT_SECONDS, eventually


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def progress() -> Progress:
    return Progress(Console(file=io.StringIO(), force_terminal=False))


def _record(into: list[str], name: str) -> Callable[[Step], None]:
    def run(_: Step) -> None:
        into.append(name)

    return run


def test_a_task_runs_after_those_it_names(progress: Progress) -> None:
    ran: list[str] = []
    tasks = [
        Task("last", _record(ran, "last"), after=("slow", "quick")),
        Task("quick", _record(ran, "quick"), after=("slow",)),
        Task("slow", _record(ran, "slow")),
    ]
    run_all(tasks, progress)
    assert ran == ["slow", "quick", "last"]
    assert list(progress.durations) == ran


def test_a_name_outside_the_run_counts_as_done(progress: Progress) -> None:
    ran: list[str] = []
    run_all([Task("image", _record(ran, "image"), after=("built last week",))], progress)
    assert ran == ["image"]


def test_independent_tasks_run_side_by_side(progress: Progress) -> None:
    all_run = threading.Barrier(4)

    def meets_the_others(_: Step) -> None:
        all_run.wait(PATIENT_SECONDS)

    run_all([Task(str(number), meets_the_others) for number in range(4)], progress)


def test_the_first_fault_ends_running_programs_and_starts_nothing_more(progress: Progress, tmp_path: Path) -> None:
    ran: list[str] = []
    runs = tmp_path / "runs"

    def fail(_: Step) -> None:
        eventually(runs.exists)
        raise UserError("first")

    def wait_long(step: Step) -> None:
        command(["sh", "-c", 'touch "$0"; exec sleep 100000', str(runs)], step=step)

    tasks = [
        Task("program", wait_long),
        Task("failing", fail),
        Task("next", _record(ran, "next"), after=("program",)),
    ]
    with pytest.raises(UserError, match=r"^first$"):
        run_all(tasks, progress)
    assert ran == []
    assert command(["echo", "works again"]) == "works again\n"


def test_tasks_that_wait_for_each_other_are_refused(progress: Progress) -> None:
    tasks = [Task("a", lambda _: None, after=("b",)), Task("b", lambda _: None, after=("a",))]
    with pytest.raises(ValueError, match="a, b"):
        run_all(tasks, progress)


def test_two_tasks_of_one_name_are_refused(progress: Progress) -> None:
    with pytest.raises(ValueError, match="same name"):
        run_all([Task("a", lambda _: None), Task("a", lambda _: None)], progress)


def test_command_returns_standard_output_alone_and_notes_every_line() -> None:
    step = Step("noisy")
    lines: list[str] = []
    text = command(["sh", "-c", "echo out; echo aside >&2"], step=step, watch=lines.append)
    assert text == "out\n"
    assert sorted(lines) == ["aside", "out"]


def test_a_failed_program_shows_its_last_lines_and_its_log(tmp_path: Path) -> None:
    with pytest.raises(UserError) as caught:
        command(["sh", "-c", "seq 50; echo the reason >&2; exit 7"], step=Step("My task"))
    assert caught.value.lines[0] == "My task: sh -c failed (exit 7)"
    assert any("the reason" in line for line in caught.value.lines)
    assert len(caught.value.lines) < 10
    log = tmp_path / "cache" / "tensorplane" / "logs" / "my-task.log"
    assert str(log) in caught.value.lines[-1]
    assert "the reason" in log.read_text()


def test_a_failure_for_want_of_network_is_one_line_that_says_what_to_do() -> None:
    text = "dial tcp: lookup modules.example on 192.0.2.1:53: no such host"
    with pytest.raises(UserError) as caught:
        command(["sh", "-c", f"echo '{text}' >&2; exit 1"], step=Step("go"))
    assert len(caught.value.lines) == 1
    assert "no network" in caught.value.lines[0]


def test_an_absent_program_is_a_fault() -> None:
    with pytest.raises(UserError, match="no-such-program"):
        command(["no-such-program"])


def test_a_program_past_its_time_is_ended() -> None:
    with pytest.raises(UserError, match="no end after"):
        command(["sh", "-c", "sleep 100000"], timeout=0.5)


_PARENT = """
import sys
from tensorplane.core.progress import Progress
from tensorplane.core.tasks import Task, command, run_all
script = ["sh", "-c", "sleep 100000 & echo $! > $0; wait", sys.argv[1]]
with Progress() as progress:
    run_all([Task("deep", lambda step: command(script, step=step))], progress)
"""


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_programs_and_their_children_end_with_us(how: signal.Signals, tmp_path: Path) -> None:
    note = tmp_path / "pid"
    parent = subprocess.Popen(
        [sys.executable, "-c", _PARENT, str(note)],
        cwd=PROJECT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    pid = int(eventually(lambda: note.exists() and note.read_text()))
    parent.send_signal(how)
    parent.wait(PATIENT_SECONDS)
    eventually(lambda: not _is_alive(pid), about=lambda: f"process {pid} outlived {how.name}")


def _is_alive(pid: int) -> bool:
    try:
        return " Z " not in Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return False
