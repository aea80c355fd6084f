"""`make up`: tools, cluster, `pulumi up`, training and serving, in sequence or in parallel."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import images
import toolchain
from core import terminal
from core.errors import UserError
from core.kube import Kube
from core.paths import PROJECT
from core.progress import Progress
from core.step import Step
from core.tasks import Task, run_all
from driver import advice, live_volumes, missing_claims, next_steps, package_sets, showcase, watch
from driver.deploy import Stack, open_stack
from driver.policy_pack import Policies
from driver.stack_settings import STACK, StackSettings
from driver.target import Target
from embedded import cluster, preflight


def up(context: str, name: str = STACK, policies: Policies = Policies.RUN, *, refresh: bool = False) -> None:
    """Deploy a stack, follow its example to the end, and show the result. Running it again changes nothing.

    `policies`: whether they run before any change; an update that skips them is recorded. `refresh`: read every
    resource first, so that what somebody changed outside of Pulumi is repaired.
    """
    began = time.monotonic()
    console = terminal.console()
    target = Target.of(context, stack=name)
    StackSettings(name, target.home).source()
    if target.embedded:
        preflight.check(target.instance, nodes=_nodes(target) or 1)
    with Progress(console) as progress:
        run_all(_tasks(target), progress)
        stack = open_stack(target)
        show = partial(console.print, markup=False, highlight=False, soft_wrap=True)
        if target.cloud:
            with progress.step("preview"):
                show(_previewed(target, policies))
        with progress.step("pulumi up") as step, stack.alone():
            changes = _update(target, stack, step, show, policies, refresh)
        outputs = stack.outputs()
        served = _follow(target, outputs, stack.settings.section("workloads"), progress)
    if served:
        showcase.show(console, *served)
    times = showcase.times(progress.durations, time.monotonic() - began)
    file = stack.settings.file.name
    changed = any(count for operation, count in changes.items() if operation != "same")
    following = f"Next: {advice.make('status', name)}, or change {file} and look at {advice.make('preview', name)}."
    console.print(times)
    if not changed:
        show(f"No changes: the cluster matches {file}.")
    show("\n".join([*_next_steps(target, stack.settings, outputs), following]))


def _next_steps(target: Target, settings: StackSettings, outputs: dict[str, Any]) -> list[str]:
    """The stack's servers and teams, a line each."""
    servers = next_steps.of_servers(_api(target), outputs, settings.section("workloads"), target.stack)
    # Members of teams on a cluster of the user's get a kubeconfig from there, and a workload stack has no teams.
    owns_teams = not target.context and settings.of_platform == settings
    return [*servers, *(next_steps.of_teams(settings.section("teams"), target.stack) if owns_teams else ())]


def _update(
    target: Target, stack: Stack, step: Step, show: Callable[[str], None], policies: Policies, refresh: bool
) -> dict[str, int]:
    """Deploy if the settings fit the cluster's volumes; returns the number of resources per operation."""
    api, settings = _api(target), stack.settings
    claims = api.items(missing_claims.CLAIMS.format(settings.namespace)) if api else []
    if api and (_meets_others(target, settings) or live_volumes.decide(settings.section("volumes"), claims)):
        _checked(target, "--cluster")
    state = stack.prepare(step)
    return stack.up(step, api, show, previewed=bool(target.cloud), policies=policies, refresh=refresh, state=state)


def _meets_others(target: Target, settings: StackSettings) -> bool:
    """Whether what other stacks have on the cluster decides if the settings fit: a platform, or promised GPUs."""
    queues = settings.section("queues").values()
    promises = any(isinstance(queue, dict) and queue.get("gpus") for queue in queues)
    return settings.of_platform != settings or bool(target.context and promises)


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


def _follow(
    target: Target, raw: dict[str, Any], declared: dict[str, Any], progress: Progress
) -> tuple[watch.Outputs, showcase.Answers | None] | None:
    """Raise a UserError for jobs that failed or cannot start, and follow the job whose model a server serves."""
    if not watch.has_job(raw) or (api := _api(target)) is None:
        return None
    digits, stack = showcase.pair(declared), target.stack
    watch.jobs(api, raw, stack)
    # In a cloud, where a run may take days, only the example is followed to its end.
    if not digits and (target.cloud or not watch.has_job_and_server(raw)):
        with progress.step("start of jobs") as step:
            watch.wait_for_start(api, raw, step)
        return None
    outputs = watch.Outputs.of(raw, digits)
    with progress.step("training") as step:
        watch.wait_for_start(api, raw, step)
        watch.training(api, outputs, step, stack)
    with progress.step("serving") as step:
        watch.serving(api, outputs, step, stack)
        asks = digits and not watch.is_simulated(api, outputs)
        return outputs, showcase.ask(api, outputs) if asks else None


def _tasks(target: Target) -> list[Task]:
    simulated, streams = target.embedded and _simulates_nodes(target), _has_streams(target)
    optional = _controllers(target) if target.embedded else set()
    tasks = toolchain.tasks(
        cluster=target.embedded,
        pulumi=True,
        simulated_nodes=simulated,
        storage=target.embedded,
        controllers=optional,
    )
    check = Task("settings", partial(_check_settings, target), after=("python packages",))
    if not target.embedded:
        return [*tasks, check]
    packages = package_sets.locked(StackSettings(target.stack, target.home))
    archives = images.tasks(streams=streams, controllers=optional, packages=packages)
    tasks += archives
    add_ons = (
        "debian packages",
        "kubernetes",
        "containerd",
        "csi",
        "kwok",
        *optional,
        "gpu charts",
        "image add-ons",
    )
    start = partial(cluster.start, target.instance, simulated_nodes=simulated, storage=True, nodes=_nodes(target))
    images_built = tuple(task.name for task in archives)
    return [
        *tasks,
        check,
        Task("cluster", start, after=(check.name, *add_ons)),
        Task(
            "load images",
            lambda step: cluster.load_images(
                target.instance, step, streams=streams, controllers=optional, packages=packages
            ),
            after=("cluster", *images_built),
        ),
    ]


def _simulates_nodes(target: Target) -> bool:
    # The tools for it are built for a stack with node groups, and for a cluster that has simulated nodes before.
    wanted = StackSettings(target.stack, target.home).section("nodeGroups")
    return bool(wanted) or cluster.simulates_nodes(target.instance)


def _nodes(target: Target) -> int | None:
    """The number of real nodes that the settings state; None if they state none, or no number: the check says so."""
    stated = str(StackSettings(target.stack, target.home).section("cluster").get("nodes", ""))
    return int(stated) if stated.isdecimal() else None


def _has_streams(target: Target) -> bool:
    # The broker's image is built and imported only for a stack with streams.
    return bool(StackSettings(target.stack, target.home).section("streams"))


def _controllers(target: Target) -> set[str]:
    # They are compiled only for a stack with workloads that use them, or that has them for other stacks' workloads.
    settings = StackSettings(target.stack, target.home)
    controllers = settings.section("controllers")
    scaled = [one.get("scaling") for one in settings.section("workloads").values() if isinstance(one, dict)]
    by_cpu = ["cpu" in scaling for scaling in scaled if isinstance(scaling, dict)]
    wanted = {"metrics-server"} if any(by_cpu) or controllers.get("metricsServer") == "chart" else set()
    if not all(by_cpu) or controllers.get("keda") == "chart":
        wanted |= {"keda"} if controllers.get("prometheusUrl") else {"keda", "prometheus"}
    if controllers.get("gateway", "chart") == "chart" and ("gateway" in controllers or _creates_gateway(settings)):
        wanted.add("traefik")
    kinds = {one.get("kind") for one in settings.section("workloads").values() if isinstance(one, dict)}
    if controllers.get("argoWorkflows", "chart") == "chart" and ("argoWorkflows" in controllers or "pipeline" in kinds):
        wanted.add("argo-workflows")
    return wanted


def _creates_gateway(settings: StackSettings) -> bool:
    exposed = [one.get("expose") for one in settings.section("workloads").values() if isinstance(one, dict)]
    return any(isinstance(expose, dict) and expose.get("create") for expose in exposed)


def _check_settings(target: Target, step: Step) -> None:
    # The embedded cluster's nodes are this machine, whether or not it was started before.
    _checked(target, *(["--machine"] if target.embedded else []))


def _checked(target: Target, *more: str) -> None:
    checked = _tensorplane(target, "check", *more)
    if checked.returncode:
        raise UserError(*checked.stderr.strip().splitlines())


def _previewed(target: Target, policies: Policies) -> str:
    """The report of the preview; a UserError with the report if a mistake or a policy stops it."""
    shown = _tensorplane(target, "preview", "--policies", policies)
    if shown.returncode:
        raise UserError(*f"{shown.stdout}{shown.stderr}".strip().splitlines())
    return shown.stdout


def _tensorplane(target: Target, *arguments: str) -> subprocess.CompletedProcess[str]:
    # In its own process: the command loads the stack, which nothing here imports.
    environment = {**os.environ, "TENSORPLANE_CONTEXT": target.override}
    argv = [sys.executable, "-m", "cli", *arguments, "--stack", target.stack]
    return subprocess.run(
        argv, cwd=PROJECT, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
