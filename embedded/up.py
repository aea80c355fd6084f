"""The main job: tools, cluster, `pulumi up`, training and serving, one after the other or side by side."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any, Literal

from embedded import cluster, hosts, images, preflight, purged, showcase, terminal, toolchain, watch
from embedded.carried_over import carry_over
from embedded.deploy import Stack
from embedded.fault import Fault
from embedded.hosts.stack_settings import StackSettings
from embedded.paths import PROJECT, Instance
from embedded.progress import Progress, Step
from embedded.target import STACK, Target
from embedded.tasks import Task, run_all

__all__ = ["STACK", "Target", "down", "open_stack", "prepare", "purge", "status", "up"]

# A name with a slash in it would be a folder elsewhere; the stack itself refuses it.
_NAME = re.compile(r"[a-z0-9-]+")
_NEXT = "Next: make status, or change Pulumi.dev.yaml and look at make preview."


def up(context: str) -> None:
    """Bring the dev stack to its end state and show it. Running it again changes nothing."""
    began = time.monotonic()
    console = terminal.console()
    target = Target.of(context)
    if target.embedded:
        preflight.check(target.instance)
    with Progress(console) as progress:
        run_all(_tasks(target), progress)
        stack = open_stack(target)
        with progress.step("pulumi up") as step, stack.alone():
            if not target.cloud and _names_what_is_there(StackSettings(STACK, target.home).section("volumes")):
                _checked(target, "--cluster")
            stack.prepare(step)
            if target.embedded:
                stack.bring_up_to_date(target.api().items("/api/v1/persistentvolumeclaims"), step)
            changes = stack.up(step)
        outputs = stack.outputs()
        served = _follow(target, outputs, progress)
    if served:
        showcase.show(console, *served)
    times = showcase.times(progress.durations, time.monotonic() - began)
    changed = any(count for operation, count in changes.items() if operation != "same")
    console.print(times, _NEXT if changed else f"Nothing changes: the cluster is as Pulumi.{STACK}.yaml says.\n{_NEXT}")


def _follow(
    target: Target, raw: dict[str, Any], progress: Progress
) -> tuple[watch.Outputs, showcase.Answers | None] | None:
    """Tell of jobs that failed, and follow the one whose model a server is to serve; None where there is none."""
    is_main_job = watch.has_job_and_server(raw)
    if not is_main_job and (target.cloud or not watch.has_job(raw)):
        # A cluster that was made just now may be in no kubeconfig yet.
        return None
    api = target.api()
    watch.jobs(api, raw)
    if not is_main_job:
        return None
    outputs = watch.Outputs.of(raw)
    with progress.step("training") as step:
        watch.training(api, outputs, step)
    with progress.step("serving") as step:
        watch.serving(api, outputs, step)
        return outputs, None if watch.is_simulated(api, outputs) else showcase.ask(api, outputs)


def open_stack(target: Target) -> Stack:
    """The dev stack on this target, its state in the target's home."""
    settings = StackSettings(STACK, target.home)
    _make_pulumi_work_here()
    return Stack(settings, toolchain.tools().path("pulumi"), target.environment())


def _tasks(target: Target) -> list[Task]:
    simulated, streams = target.embedded and _simulates_nodes(target), _has_streams(target)
    tasks = toolchain.tasks(cluster=target.embedded, pulumi=True, simulated_nodes=simulated, storage=target.embedded)
    check = Task("settings", partial(_check_settings, target), after=("python packages",))
    if not target.embedded:
        return [*tasks, check]
    archives = images.tasks(streams=streams)
    tasks += archives
    add_ons = ("debian packages", "kubernetes", "containerd", "csi", "kwok", "gpu charts", "image add-ons")
    start = partial(cluster.start, target.instance, simulated_nodes=simulated, storage=True)
    images_built = tuple(task.name for task in archives)
    return [
        *tasks,
        check,
        Task("cluster", start, after=(check.name, *add_ons)),
        Task(
            "load images",
            lambda step: cluster.load_images(target.instance, step, streams=streams),
            after=("cluster", *images_built),
        ),
    ]


def _simulates_nodes(target: Target) -> bool:
    # What that takes is built for a stack that has node groups, and for a cluster that has had it before.
    wanted = StackSettings(STACK, target.home).section("nodeGroups")
    return bool(wanted) or cluster.simulates_nodes(target.instance)


def _has_streams(target: Target) -> bool:
    # Their broker's image is built and imported for a stack that has some.
    volumes = StackSettings(STACK, target.home).section("volumes").values()
    return any(isinstance(volume, dict) and volume.get("stream") for volume in volumes)


def _names_what_is_there(volumes: dict[str, Any]) -> bool:
    """Whether a volume names a class or a snapshot, which the cluster has or has not."""
    told = [one for one in volumes.values() if isinstance(one, dict)]
    return any("from" in one or "name" in (one.get("backend") or {}) for one in told)


def _check_settings(target: Target, step: Step) -> None:
    _checked(target)


def _checked(target: Target, *more: str) -> None:
    # In a process of its own: what checks them is the stack, which nothing here imports.
    environment = {**os.environ, "TENSORPLANE_CONTEXT": target.override}
    argv = [sys.executable, "-m", "cli", "check", "--stack", STACK, *more]
    checked = subprocess.run(
        argv, cwd=PROJECT, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True
    )
    if checked.returncode:
        raise Fault(*checked.stderr.strip().splitlines())


def prepare(*, everything: bool, python: Literal["stacks", "tests"] | None) -> None:
    """Build or find what previews need; with `everything`, what the tests and the cluster need too.

    With `python`, the packages alone of those that it names.
    """
    tests = everything or python == "tests"
    tasks = toolchain.tasks(
        cluster=everything, pulumi=python is None, simulated_nodes=everything, storage=everything, tests=tests
    )
    if python is None:
        tasks.append(hosts.policy_task())
    if everything:
        tasks += images.tasks(streams=True)
    with Progress(terminal.console()) as progress:
        run_all(tasks, progress)
    if python is None:
        _make_pulumi_work_here()


def _make_pulumi_work_here() -> None:
    """What `. .venv/bin/activate && pulumi preview` needs. It follows the stack's file, not this one command."""
    venv = Path(sys.prefix)
    carry_over(Instance())
    hosts.install(venv / "bin")
    hosts.install_command(venv / "bin")
    hosts.activate(venv, home=Target.of("", Instance()).home)


def down(instance: Instance) -> None:
    """Stop the embedded cluster; data, tools and images stay."""
    running = cluster.is_running(instance)
    cluster.stop(instance)
    print("Stopped. Data is kept; `make up` goes on with it." if running else "Nothing was running.")


def status(context: str) -> None:
    """Print nodes, pods, volumes, queue and URLs."""
    target = Target.of(context)
    report = cluster.report(target.instance) if target.embedded else cluster.report_on(target.api())
    terminal.console().print(report)


def purge(instance: Instance, *, confirmed: bool) -> None:
    """Stop the embedded cluster and delete its data, with the state of the stacks on it; tell what goes."""
    carry_over(instance)
    stacks = purged.on_the_cluster(instance.stacks)
    print(*purged.described(instance, stacks), sep="\n")
    if not confirmed:
        if not sys.stdin.isatty():
            raise Fault("Nothing was deleted. Confirm with: python -m embedded purge --yes")
        if input(f"Type {instance.name} to delete it: ") != instance.name:
            raise Fault("Nothing was deleted.")
    cluster.stop(instance)
    # Before the cluster's data: what a kill cuts off, the same command goes on with.
    purged.forget(instance.stacks, stacks)
    cluster.remove(instance)
    print("Deleted. Tools and images stay in the cache.")
