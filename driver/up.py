"""`tensorplane up`: prepares tools, images and the cluster, then takes the steps of `_steps` one after the other."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

from rich.console import Console
from rich.table import Table

from tensorplane import toolchain
from tensorplane.core import command_lines, extras, terminal
from tensorplane.core.command_lines import STACK
from tensorplane.core.errors import UserError
from tensorplane.core.kube import Kube
from tensorplane.core.paths import PROJECT
from tensorplane.core.progress import Progress
from tensorplane.core.step import Step
from tensorplane.core.tasks import Task, run_all
from tensorplane.core.times import elapsed
from tensorplane.driver import claims, digits_demo, next_steps, watch
from tensorplane.driver.requirements import Requirements
from tensorplane.driver.stack_settings import StackSettings
from tensorplane.driver.target import Target
from tensorplane.driver.update.policy_pack import Policies
from tensorplane.driver.update.stack import Stack, open_stack
from tensorplane.embedded import cluster, preflight


def up(context: str, name: str = STACK, policies: Policies = Policies.RUN, *, refresh: bool = False) -> None:
    """Deploys a stack, follows its example to the end, and shows the result. Running it again changes nothing.

    `policies`: whether they run before any change; an update that skips them is recorded. `refresh`: read every
    resource first, so that what somebody changed outside of Pulumi is repaired.
    """
    began = time.monotonic()
    console = terminal.console()
    target = Target.of(context, stack=name)
    settings = StackSettings(name, target.home)
    settings.source()
    requirements = Requirements(settings, target.instance)
    extras.require(*(["dev"] if target.embedded else ["platform", *filter(None, [target.cloud])]))
    if target.embedded:
        preflight.check(target.instance, nodes=requirements.nodes or 1)
    with Progress(console) as progress:
        run_all(_preparation(target, requirements), progress)
        run = _Run(target, open_stack(target), console, policies, refresh)
        for step in _steps():
            if step.needed(run):
                step.take(run, progress)
    _print_result(run, progress.durations, began)


def _preparation(target: Target, requirements: Requirements) -> list[Task]:
    """What has to be there before the first step. Tasks run in parallel, as far as none waits for another (`after`)."""
    embedded, streams = target.embedded, requirements.streams
    simulated = embedded and requirements.simulated_nodes
    controllers = requirements.controllers if embedded else set()
    tools = toolchain.tasks(
        cluster=embedded, pulumi=True, simulated_nodes=simulated, storage=embedded, controllers=controllers
    )
    check = Task("settings", partial(_check_settings, target), after=("python packages",))
    if not embedded:
        return [*tools, check]
    from tensorplane import images  # they need more than the extra `platform`

    built = images.tasks(streams=streams, controllers=controllers, packages=(packages := requirements.packages))
    programs = ("debian packages", "kubernetes", "containerd", "csi", "kwok", *controllers, "gpu charts")
    start = partial(cluster.start, target.instance, simulated_nodes=simulated, storage=True, nodes=requirements.nodes)
    load = partial(cluster.load_images, target.instance, streams=streams, controllers=controllers, packages=packages)
    return [
        *tools,
        *built,
        check,
        Task("cluster", start, after=(check.name, *programs, "image add-ons")),
        Task("load images", load, after=("cluster", *(task.name for task in built))),
    ]


@dataclass
class _Run:
    """One `tensorplane up`: what the user asked for, and what its steps have found so far."""

    target: Target
    stack: Stack
    console: Console
    policies: Policies
    refresh: bool
    changes: dict[str, int] = field(init=False)
    """The number of resources per operation of the update."""
    outputs: dict[str, Any] = field(init=False)
    """The stack's outputs after the update."""
    follow: Literal["nothing", "start", "end"] = "nothing"
    """Until when training jobs are followed. The fields below are set unless it is `nothing`."""
    api: Kube = field(init=False)
    demo: tuple[str, str] | None = field(init=False)
    """The job and the server of the digits example."""
    followed: watch.Outputs = field(init=False)
    """The job and the server that are followed to the end."""
    predictions: digits_demo.Predictions | None = None

    def show(self, text: str) -> None:
        self.console.print(text, markup=False, highlight=False, soft_wrap=True)


@dataclass(frozen=True)
class _UpStep:
    """One step of `tensorplane up`."""

    name: str
    """Its row in the progress; a step without a name has none."""
    action: Callable[[_Run, Step], None]
    needed: Callable[[_Run], bool] = lambda run: True

    def take(self, run: _Run, progress: Progress) -> None:
        with progress.step(self.name) if self.name else nullcontext(Step("")) as row:
            self.action(run, row)


def _steps() -> list[_UpStep]:
    """The steps after the preparation. Each begins when the one before it has ended, if it is needed then."""
    return [
        _UpStep("preview", _preview, needed=lambda run: bool(run.target.cloud)),
        _UpStep("pulumi up", _update),
        _UpStep("", _check_jobs),
        _UpStep("start of jobs", _wait_for_start, needed=lambda run: run.follow == "start"),
        _UpStep("training", _wait_for_training, needed=lambda run: run.follow == "end"),
        _UpStep("serving", _wait_for_serving, needed=lambda run: run.follow == "end"),
    ]


def _preview(run: _Run, step: Step) -> None:
    """Prints the report of the preview; a UserError with the report if a problem or a policy stops it."""
    shown = _tensorplane(run.target, "preview", "--policies", run.policies)
    if shown.returncode:
        raise UserError(*f"{shown.stdout}{shown.stderr}".strip().splitlines())
    run.show(shown.stdout)


def _update(run: _Run, step: Step) -> None:
    """Updates the stack if its settings fit the cluster's volumes."""
    target, stack = run.target, run.stack
    with stack.alone():
        api = _api(target)
        live = api.items(claims.CLAIMS.format(stack.settings.namespace)) if api else []
        if api and (
            _shares_cluster(target, stack.settings) or claims.need_cluster(stack.settings.section("volumes"), live)
        ):
            _check(target, "--cluster")
        state = stack.prepare(step)
        run.changes = stack.up(
            step,
            api,
            run.show,
            previewed=bool(target.cloud),
            policies=run.policies,
            refresh=run.refresh,
            state=state,
        )


def _shares_cluster(target: Target, settings: StackSettings) -> bool:
    """Whether what other stacks have on the cluster decides if the settings fit: a platform, or promised GPUs."""
    queues = settings.section("queues").values()
    promises = any(isinstance(queue, dict) and queue.get("gpus") for queue in queues)
    return settings.of_platform != settings or bool(target.context and promises)


def _check_jobs(run: _Run, step: Step) -> None:
    """Decides until when the stack's training jobs are followed. A UserError if one has failed or was deleted."""
    target, run.outputs = run.target, run.stack.outputs()
    if not watch.has_job(run.outputs) or (api := _api(target)) is None:
        return
    run.api, run.demo = api, digits_demo.find(run.stack.settings.section("workloads"))
    watch.raise_for_failed_jobs(api, run.outputs, target.stack)
    # In a cloud, where a run may take days, only the example is followed to its end.
    if run.demo or (not target.cloud and watch.has_job_and_server(run.outputs)):
        run.follow, run.followed = "end", watch.Outputs.of(run.outputs, run.demo)
    else:
        run.follow = "start"


def _wait_for_start(run: _Run, step: Step) -> None:
    watch.wait_for_start(run.api, run.outputs, step)


def _wait_for_training(run: _Run, step: Step) -> None:
    watch.wait_for_start(run.api, run.outputs, step)
    watch.wait_for_training(run.api, run.followed, step, run.target.stack)


def _wait_for_serving(run: _Run, step: Step) -> None:
    watch.wait_for_serving(run.api, run.followed, step, run.target.stack)
    if run.demo and not watch.is_simulated(run.api, run.followed):
        run.predictions = digits_demo.predict_all(run.api, run.followed)


def _print_result(run: _Run, durations: dict[str, float], began: float) -> None:
    """Prints the demonstration, the server's addresses, the times, and the commands to use next."""
    name, file = run.target.stack, run.stack.settings.file.name
    if run.follow == "end":
        _print_server(run.console, run.followed.urls, run.predictions)
    run.console.print(_times(durations, time.monotonic() - began))
    if all(operation == "same" or not count for operation, count in run.changes.items()):
        run.show(f"No changes: the cluster matches {file}.")
    status, preview = command_lines.of_stack("status", name), command_lines.of_stack("preview", name)
    following = f"Next: {status}, or change {file} and look at {preview}."
    run.show("\n".join([*_next_steps(run.target, run.stack.settings, run.outputs), following]))


def _print_server(console: Console, urls: dict[str, str], predictions: digits_demo.Predictions | None) -> None:
    console.print()
    if predictions:
        digits_demo.show(console, predictions)
    for name, url in urls.items():
        console.print(f"{name:<5} {url}", soft_wrap=True)
    console.print()


def _times(durations: dict[str, float], total: float) -> Table:
    """How long each stage took; stages run side by side, so the sum exceeds the total."""
    table = Table(title="Time", title_justify="left", box=None, padding=(0, 2, 0, 0))
    table.add_column("stage")
    table.add_column("took", justify="right")
    for name, seconds in durations.items():
        table.add_row(name, elapsed(seconds))
    table.add_row("[bold]all[/bold]", f"[bold]{elapsed(total)}[/bold]")
    return table


def _next_steps(target: Target, settings: StackSettings, outputs: dict[str, Any]) -> list[str]:
    """The stack's servers and teams, a line each."""
    servers = next_steps.list_servers(_api(target), outputs, settings.section("workloads"), target.stack)
    # Members of teams on a cluster of the user's get a kubeconfig from there, and a workload stack has no teams.
    owns_teams = not target.context and settings.of_platform == settings
    return [*servers, *(next_steps.list_teams(settings.section("teams"), target.stack) if owns_teams else ())]


def _api(target: Target) -> Kube | None:
    """The API of the stack's cluster; None if the stack creates the cluster and it does not answer (yet).

    The update may be what makes it answer.
    """
    if not target.cloud:
        return target.api()
    try:
        return target.answering_api()
    except UserError:
        return None


def _check_settings(target: Target, step: Step) -> None:
    # The embedded cluster's nodes are this machine, whether or not it was started before.
    _check(target, *(["--machine"] if target.embedded else []))


def _check(target: Target, *options: str) -> None:
    checked = _tensorplane(target, "check", *options)
    if checked.returncode:
        raise UserError(*checked.stderr.strip().splitlines())


def _tensorplane(target: Target, *arguments: str) -> subprocess.CompletedProcess[str]:
    # In its own process: the command loads the stack, which nothing here imports.
    environment = {**os.environ, "TENSORPLANE_CONTEXT": target.override}
    argv = [sys.executable, "-m", "tensorplane.cli", *arguments, "--stack", target.stack]
    return subprocess.run(
        argv, cwd=PROJECT, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
