"""Who updates a stack: whose lock may be broken, and what the one hears who comes second."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tensorplane.core.errors import UserError
from tensorplane.core.paths import PROJECT
from tensorplane.core.step import Step
from tensorplane.driver.stack_settings import StackSettings
from tensorplane.driver.update import locks
from tensorplane.driver.update.stack import Stack
from tests.support.state_locks import dead_process, locked_by


def test_the_lock_of_a_dead_process_is_broken(tmp_path: Path) -> None:
    lock = locked_by(tmp_path, dead_process())
    locks.break_stale(tmp_path, "dev")
    assert not lock.exists()


def test_the_lock_of_a_process_that_is_no_pulumi_is_broken(tmp_path: Path) -> None:
    lock = locked_by(tmp_path, 1)
    locks.break_stale(tmp_path, "dev")
    assert not lock.exists()


def test_the_lock_of_a_live_pulumi_stays_and_is_named(tmp_path: Path) -> None:
    waits = "print(flush=True); input()  # pulumi"
    with subprocess.Popen([sys.executable, "-c", waits], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        try:
            assert child.stdout and child.stdout.readline()  # its command line can be read once it runs
            lock = locked_by(tmp_path, child.pid)
            with pytest.raises(UserError, match=f"process {child.pid} on .* is updating it"):
                locks.break_stale(tmp_path, "dev")
            assert lock.exists()
        finally:
            child.kill()


def test_the_lock_of_another_machine_stays(tmp_path: Path) -> None:
    lock = locked_by(tmp_path, os.getpid(), "elsewhere")
    with pytest.raises(UserError, match="on elsewhere"):
        locks.break_stale(tmp_path, "dev")
    assert lock.exists()


_ODD = ['{"pid": 1}', '{"pid": "x", "hostname": "here"}', '{"pid": [1], "hostname": "here"}', '{"hostname": "here"}']


@pytest.mark.parametrize("text", ["", "{", "[]", "7", "null", '"a"', "{}", "\xff", "[" * 99999, *_ODD])
def test_a_lock_that_no_process_wrote_is_broken(tmp_path: Path, text: str) -> None:
    lock = locked_by(tmp_path, os.getpid())
    lock.write_text(text.replace("here", socket.gethostname()), encoding="latin-1")
    locks.break_stale(tmp_path, "dev")
    assert not lock.exists()


def test_another_stacks_lock_is_left_alone(tmp_path: Path) -> None:
    lock = locked_by(tmp_path, dead_process())
    locks.break_stale(tmp_path, "prod")
    assert lock.exists()


_REFUSED = """\
error: the stack is currently locked by 1 lock(s). Either wait for the other process(es) to end or delete the lock \
file with `pulumi cancel`.
  file:///x/.pulumi/locks/organization/tensorplane/dev/3f.json: created by root@%s (pid 4242) at 2026-11-22T20:00:00Z
"""


def test_the_engines_refusal_of_a_locked_stack_is_the_documented_line(tmp_path: Path) -> None:
    """The other update can begin after the locks were looked at."""
    pulumi = tmp_path / "pulumi"
    pulumi.write_text(f"#!/bin/sh\ncat >&2 <<'END'\n{_REFUSED % socket.gethostname()}END\nexit 255\n")
    pulumi.chmod(0o755)
    stack = Stack(StackSettings("dev", tmp_path, tmp_path), pulumi, {})
    stack.settings.folder.mkdir()
    said = f"stack dev: process 4242 on {socket.gethostname()} is updating it since 2026-11-22T20:00:00Z; wait until it"
    for command in (lambda: stack.destroy(Step("destroy")), stack.outputs):
        with pytest.raises(UserError) as raised:
            command()
        (line,) = raised.value.lines
        assert line.startswith(said)
        assert "pulumi cancel" not in line, "that would take the lock from a live process"


def test_the_second_of_two_concurrent_runs_names_the_first(tmp_path: Path) -> None:
    holds = (
        "from pathlib import Path; from tensorplane.driver.update import locks\n"
        f"with locks.alone(Path({str(tmp_path)!r}), 'dev'): print(flush=True); input()"
    )
    argv = [sys.executable, "-c", holds]
    with subprocess.Popen(argv, cwd=PROJECT, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as first:
        try:
            assert first.stdout and first.stdout.readline()
            said = rf"^stack dev: process {first.pid} on \S+ is updating it since 20"
            with pytest.raises(UserError, match=said), locks.alone(tmp_path, "dev"):
                pytest.fail("both hold it")
            with locks.alone(tmp_path, "prod"):
                pass
        finally:
            first.kill()
    with locks.alone(tmp_path, "dev"):
        assert (tmp_path / ".dev.lock").stat().st_mode & 0o777 == 0o600
