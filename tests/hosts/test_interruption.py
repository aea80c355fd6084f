"""However a command ends, no process that it started is left."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from tests.hosts.engine import Engine, Project
from tests.support.processes import is_alive
from tests.support.waiting import PATIENT_SECONDS, eventually

# Each process writes its own number: the program, what it started, and the language host above it.
PROGRAM = """
    import os, pathlib, subprocess
    child = subprocess.Popen(["sleep", "infinity"])
    draft = pathlib.Path("numbers.new")
    draft.write_text(f"{os.getpid()} {child.pid} {os.getppid()}")
    draft.rename("numbers")
    child.wait()
"""


@pytest.fixture
def running(engine: Engine, tmp_path: Path) -> Project:
    return engine.project(tmp_path / "tiny", PROGRAM).started()


def numbers(project: Project) -> list[int]:
    """Process numbers of the program, its child and the host, once all of them run."""
    file = project.folder / "numbers"
    eventually(file.exists)
    return [int(number) for number in file.read_text().split()]


KILLED = pytest.mark.nightly("killed; `make test` interrupts the CLI")


@pytest.mark.parametrize(
    "number",
    [signal.SIGINT, pytest.param(signal.SIGTERM, marks=KILLED), pytest.param(signal.SIGKILL, marks=KILLED)],
)
def test_a_stopped_cli_leaves_no_process(running: Project, number: signal.Signals) -> None:
    cli = running.start("preview")
    started = numbers(running)
    cli.send_signal(number)
    output, _ = cli.communicate(timeout=PATIENT_SECONDS)
    assert cli.returncode != 0
    eventually(lambda: not any(is_alive(each) for each in started))
    assert "Traceback" not in output


@KILLED
def test_a_killed_host_takes_its_program_along(running: Project) -> None:
    cli = running.start("preview")
    program, child, host = numbers(running)
    os.kill(host, signal.SIGKILL)
    cli.communicate(timeout=PATIENT_SECONDS)
    assert cli.returncode != 0
    eventually(lambda: not any(is_alive(each) for each in (program, child, host)))


@KILLED
def test_a_program_that_ignores_the_interrupt_is_killed(running: Project) -> None:
    running.having("import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n" + PROGRAM.replace("\n    ", "\n"))
    cli = running.start("preview")
    started = numbers(running)
    cli.send_signal(signal.SIGINT)
    cli.communicate(timeout=PATIENT_SECONDS)
    eventually(lambda: not any(is_alive(each) for each in started))
