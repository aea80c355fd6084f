"""Gets the tools that previews, tests and deployments need, and makes plain `pulumi` work in this project."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Literal

from tensorplane import toolchain
from tensorplane.core import paths, terminal
from tensorplane.core.progress import Progress
from tensorplane.core.tasks import Task, run_all
from tensorplane.driver.target import Target
from tensorplane.embedded.instance import Instance
from tensorplane.plugins.hosts import shell, stand_ins
from tensorplane.toolchain import go_module, launchers, python_packages

_TESTED = ("argo-workflows",)
"""Controllers that `make test` uses. Those of nightly tests are built when one of them runs: they take minutes each."""


def prepare(*, everything: bool = False, python: Literal["stacks", "tests"] | None = None) -> None:
    """Builds or finds the tools for previews; with `everything`, also those for the tests and the cluster.

    With `python`, only the Python packages of a checkout's stacks or tests.
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
    if everything:
        from tensorplane import images  # they need more than the extra `platform`

        tasks += images.tasks(streams=True, controllers=_TESTED)
    _run(tasks)
    if python is None:
        make_pulumi_work_here()


def prepare_preview(target: Target) -> None:
    """Gets what a preview of the target's stack needs and this environment lacks; nothing, if it has all.

    That is the Pulumi CLI with its hosts, and what values are checked against where the stack's cloud cannot be asked.
    """
    missing = toolchain.tasks(cluster=False, pulumi=True)
    _run(missing)
    _run(_models(target))
    if missing or not launchers.are_installed(_programs(), pulumi=toolchain.tools().path("pulumi")):
        make_pulumi_work_here()


def _run(tasks: Sequence[Task]) -> None:
    with Progress(terminal.console()) as progress:
        run_all(tasks, progress)


def _models(previewed: Target) -> list[Task]:
    if not (previewed.cloud and paths.is_checkout()):
        return []
    # The settings' packages may have been installed just now.
    importlib.invalidate_caches()
    from tensorplane.components.clusters.settings import ClusterArgs

    kinds = (each for each in ClusterArgs.kinds() if each.model_fields["kind"].default == previewed.cloud)
    used = {each.effects.node_group.partition(":")[0] for each in kinds if each.effects}
    unreachable = [cloud.package for cloud in stand_ins.CLOUDS if cloud.package in used and cloud.unreachable()]
    pins = [python_packages.MODELS[package] for package in unreachable]
    missing = python_packages.is_missing(pins)
    return [Task("cloud models", partial(python_packages.install, requirements=pins))] if missing else []


def make_pulumi_work_here() -> None:
    """Prepares `. .venv/bin/activate && pulumi preview`, by the stack's file and not by this one command."""
    programs, cli = _programs(), toolchain.tools().path("pulumi")
    launchers.install(programs, pulumi=cli)
    if paths.is_checkout():
        launchers.install_command(programs)  # elsewhere, pip has installed it
    launchers.link_kubectl(programs, go_module.kubernetes().path("kubectl"))
    shell.activate(Path(sys.prefix), home=Target.of("", Instance()).home, pulumi=cli)


def _programs() -> Path:
    """This environment's folder of programs."""
    return Path(sys.prefix) / "bin"
