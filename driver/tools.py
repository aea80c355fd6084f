"""Gets the tools that previews, tests and deployments need, and makes plain `pulumi` work in this project."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Literal

from driver import terminal
from driver.target import Target
from embedded import images, toolchain
from embedded.hosts import launchers, policy_environment, shell
from embedded.paths import Instance
from embedded.progress import Progress
from embedded.tasks import run_all
from embedded.toolchain import go_module

_TESTED = ("argo-workflows", "metrics-server")
"""Controllers that `make test` uses. Those of nightly tests are built when one of them runs: they take minutes each."""


def prepare(*, everything: bool, python: Literal["stacks", "tests"] | None) -> None:
    """Build or find the tools for previews; with `everything`, also those for the tests and the cluster.

    With `python`, only the Python packages of the stacks or the tests.
    """
    tests = everything or python == "tests"
    tasks = toolchain.tasks(
        cluster=everything,
        pulumi=python is None,
        simulated_nodes=everything,
        storage=everything,
        controllers=_TESTED if everything else (),
        tests=tests,
    )
    if python is None:
        tasks.append(policy_environment.task())
    if everything:
        tasks += images.tasks(streams=True, controllers=_TESTED)
    with Progress(terminal.console()) as progress:
        run_all(tasks, progress)
    if python is None:
        make_pulumi_work_here()


def make_pulumi_work_here() -> None:
    """Prepare `. .venv/bin/activate && pulumi preview`, by the stack's file and not by this one command."""
    venv = Path(sys.prefix)
    cli = toolchain.tools().path("pulumi")
    launchers.install(venv / "bin", pulumi=cli)
    launchers.install_command(venv / "bin")
    launchers.link_kubectl(venv / "bin", go_module.kubernetes().path("kubectl"))
    shell.activate(venv, home=Target.of("", Instance()).home, pulumi=cli)
