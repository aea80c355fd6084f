"""The main job: tools, cluster, `pulumi up`, training and serving, one after the other or side by side."""

from __future__ import annotations

import os
import shutil
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from embedded import cluster, hosts, images, preflight, showcase, terminal, toolchain, watch
from embedded.deploy import Stack
from embedded.fault import Fault
from embedded.hosts.environment import pulumi_environment
from embedded.hosts.stack_settings import StackSettings
from embedded.kube import Kube
from embedded.paths import Instance, context_home
from embedded.progress import Progress
from embedded.tasks import Task, run_all

STACK = "dev"
_NEXT = "Next: make status, or change STEPS in Pulumi.dev.yaml and look at make preview."


@dataclass(frozen=True)
class Target:
    """The cluster of this run: the embedded one, or the one that a kubeconfig's context names."""

    context: str
    instance: Instance

    @property
    def embedded(self) -> bool:
        return not self.context

    @property
    def home(self) -> Path:
        return self.instance.home if self.embedded else context_home(self.context)

    def api(self) -> Kube:
        return Kube.of(self.instance.kubeconfig) if self.embedded else Kube.of(None, self.context)


def up(context: str) -> None:
    """Bring the dev stack to its end state and show it. Running it again changes nothing."""
    began = time.monotonic()
    console = terminal.console()
    target = Target(context, Instance.current())
    if target.embedded:
        preflight.check(target.instance)
    with Progress(console) as progress:
        run_all(_tasks(target), progress)
        stack = open_stack(target)
        with progress.step("pulumi up") as step:
            stack.prepare(step)
            changes = stack.up(step)
        outputs = watch.Outputs.of(stack.outputs())
        api = target.api()
        with progress.step("training") as step:
            watch.training(api, outputs, step)
        with progress.step("serving") as step:
            watch.serving(api, outputs, step)
            answers = showcase.ask(api, outputs)
    showcase.show(console, outputs, answers)
    times = showcase.times(progress.durations, time.monotonic() - began)
    changed = any(count for operation, count in changes.items() if operation != "same")
    console.print(times, _NEXT if changed else f"Nothing changes: the cluster is as Pulumi.{STACK}.yaml says.\n{_NEXT}")


def open_stack(target: Target) -> Stack:
    """The dev stack on this target, its state in the target's home."""
    settings = StackSettings(STACK, target.home)
    if target.embedded:
        _make_volume_folders(settings, target.instance)
    hosts.install(Path(sys.executable).parent)
    environment = toolchain.project_environment(target.instance) if target.embedded else _context_environment(target)
    return Stack(settings, toolchain.tools().path("pulumi"), environment)


def _context_environment(target: Target) -> dict[str, str]:
    path = os.pathsep.join([str(Path(sys.prefix) / "bin"), os.environ.get("PATH", os.defpath)])
    return {**pulumi_environment(target.home), "PATH": path, "TENSORPLANE_CONTEXT": target.context}


def _tasks(target: Target) -> list[Task]:
    tasks = toolchain.tasks(cluster=target.embedded, pulumi=True)
    if not target.embedded:
        return tasks
    tasks += images.tasks()
    before = tuple(task.name for task in tasks)
    add_ons = tuple(name for name in before if name in {"debian packages", "kubernetes", "containerd", "image add-ons"})
    return [
        *tasks,
        Task("cluster", lambda step: cluster.start(target.instance, step), after=add_ons),
        Task("load images", lambda step: cluster.load_images(target.instance, step), after=("cluster", *before)),
    ]


def _make_volume_folders(settings: StackSettings, instance: Instance) -> None:
    for name in settings.section("volumes"):
        folder = instance.volumes / str(name)
        folder.mkdir(parents=True, exist_ok=True)
        # The group that every pod runs as; the set-group-id bit keeps what pods make in it readable to the next.
        shutil.chown(folder, group=65532)
        folder.chmod(0o2770)


def prepare(*, everything: bool, python_only: bool) -> None:
    """Build or find what previews need; with `everything`, what the tests and the cluster need too."""
    tasks = toolchain.tasks(cluster=everything, pulumi=not python_only)
    if not python_only:
        tasks.append(hosts.policy_task())
    if everything:
        tasks += images.tasks()
    with Progress(terminal.console()) as progress:
        run_all(tasks, progress)
    if not python_only:
        hosts.install(Path(sys.executable).parent)
        hosts.activate(Path(sys.executable).parent.parent)


def down(instance: Instance) -> None:
    """Stop the embedded cluster; data, tools and images stay."""
    running = cluster.is_running(instance)
    cluster.stop(instance)
    print("Stopped. Data is kept; `make up` goes on with it." if running else "Nothing was running.")


def status(context: str) -> None:
    """Print nodes, pods, volumes, queue and URLs."""
    target = Target(context, Instance.current())
    report = cluster.report(target.instance) if target.embedded else cluster.report_on(target.api())
    terminal.console().print(report)


def purge(instance: Instance, *, confirmed: bool) -> None:
    """Stop the embedded cluster and delete its data: models, checkpoints, state."""
    if not confirmed:
        if not sys.stdin.isatty():
            raise Fault("purge deletes the volumes' data. Confirm with: python -m embedded purge --yes")
        answer = input(f"Delete the cluster and every volume of instance {instance.name}? Type its name: ")
        if answer != instance.name:
            raise Fault("Nothing was deleted.")
    cluster.stop(instance)
    cluster.remove(instance)
    print(f"Deleted the data of instance {instance.name}. Tools and images stay in the cache.")
