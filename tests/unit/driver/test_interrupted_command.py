"""Ctrl-C ends a command: the first lets it stop in order, the second is heard whatever it is doing."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

import pytest

from tensorplane.core.paths import PROJECT
from tests.support.waiting import eventually

_STUCK = """
import sys, time
from concurrent.futures import ThreadPoolExecutor
from tensorplane.cli import __main__ as commands
from tensorplane.core.progress import Progress
from tensorplane.core.tasks import Task, run_all
from tensorplane.driver import teardown

def waits(step):
    # As the cluster's start does: a pool, whose thread waits for something.
    with ThreadPoolExecutor(1) as pool:
        pool.submit(time.sleep, 100000)
        print("stuck", flush=True)

def in_a_task(*_):
    with Progress() as progress:
        run_all([Task("stuck", waits)], progress)

class Lossy:
    def __del__(self):
        print("stuck", flush=True)
        time.sleep(5)

def in_a_finalizer(*_):
    # Python drops an exception that is raised in a finalizer.
    Lossy()
    Lossy()
    time.sleep(100000)

teardown.down = {command}
sys.exit(commands.main(["down"]))
"""


@pytest.mark.parametrize("command", ["in_a_task", "in_a_finalizer"])
def test_a_second_ctrl_c_is_heard(command: str) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", _STUCK.replace("{command}", command)],
        cwd=PROJECT,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as stuck:
        try:
            assert stuck.stdout
            while stuck.stdout.readline() != "stuck\n":
                assert stuck.poll() is None

            def ends() -> bool:
                # Two that come at once are one, so each comes after a while, until one is heard.
                stuck.send_signal(signal.SIGINT)
                time.sleep(0.1)
                return stuck.poll() is not None

            eventually(ends)
            assert stuck.returncode == 130
        finally:
            stuck.kill()
