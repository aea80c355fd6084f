"""The programs of the embedded cluster: their paths, and the tasks that get missing ones."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import partial
from pathlib import Path

from tensorplane.core import command_lines, paths
from tensorplane.core.errors import UserError
from tensorplane.core.step import Step
from tensorplane.core.tasks import Task
from tensorplane.toolchain import (
    charts,
    debian,
    go_build,
    go_module,
    golang,
    helm,
    kafka,
    pulumi,
    python_packages,
    releases,
)
from tensorplane.toolchain.go_module import GoModule
from tensorplane.toolchain.tool_folders import on_path

__all__ = ["Tools", "tasks", "tools"]


class Tools:
    """The path of each program. A lookup does not build anything."""

    def __init__(self) -> None:
        self._kubernetes = go_module.kubernetes()
        self._modules = (
            self._kubernetes,
            go_module.containerd(),
            go_module.csi(),
            go_module.kwok(),
            *(controller() for controller in go_module.CONTROLLERS.values()),
        )

    def path(self, program: str) -> Path:
        """The program's file. A UserError if it is not installed."""
        found = pulumi.find() if program == "pulumi" else self._built(program) or self._system(program)
        if not found:
            remedy = command_lines.goal("tools" if program == "pulumi" else "up")
            raise UserError(f"{program}: not installed yet; run `{remedy}`")
        return found

    @property
    def charts(self) -> Path:
        """Folder with the charts `kueue` and `jobset`, in the versions of the programs."""
        folder = self._kubernetes.folder / "charts"
        if not folder.exists():
            raise UserError(f"charts of Kueue and JobSet: not downloaded yet; run `{command_lines.deploy()}`")
        return folder

    @property
    def gpu_charts(self) -> Path:
        """Folder with the chart `nvidia-device-plugin`, for simulated nodes."""
        if charts.is_missing():
            raise UserError(f"chart of NVIDIA's device plugin: not downloaded yet; run `{command_lines.deploy()}`")
        return charts.folder()

    @property
    def controller_charts(self) -> list[Path]:
        """Folders with the charts of `go_module.CONTROLLERS`, as far as a stack has needed them."""
        folders = [controller().folder / "charts" for controller in go_module.CONTROLLERS.values()]
        return [folder for folder in folders if folder.exists()]

    @property
    def snapshot_kinds(self) -> Path:
        """Folder with the CustomResourceDefinitions of snapshots, in the version of their controllers."""
        folder = go_module.csi().folder / "crds"
        if not folder.exists():
            remedy = command_lines.deploy()
            raise UserError(f"CustomResourceDefinitions of snapshots: not downloaded yet; run `{remedy}`")
        return folder

    def _built(self, program: str) -> Path | None:
        # helm is built separately if the rest of Kubernetes is not used.
        modules = [*self._modules, go_module.helm()] if program == "helm" else self._modules
        paths = (module.path(program) for module in modules if program in module.programs)
        return next((path for path in paths if path.exists()), None)

    def _system(self, program: str) -> Path | None:
        return on_path(program) if program in debian.PROGRAMS else None


def tools() -> Tools:
    """Looks up programs; cheap enough to be called wherever a program is used."""
    return Tools()


def tasks(
    *,
    cluster: bool,
    pulumi: bool,
    simulated_nodes: bool = False,
    storage: bool = False,
    controllers: Collection[str] = (),
    tests: bool = False,
) -> list[Task]:
    """The tasks that get missing tools: of the embedded cluster, of `pulumi up`, or only Python packages.

    `simulated_nodes` adds the cluster's tools for simulated nodes with GPUs, `storage` those of the CSI driver,
    `controllers` those of `go_module.CONTROLLERS`, and `tests` the Python packages and the browser of the tests.
    """
    programs = debian.PROGRAMS | (debian.STORAGE if storage else {}) | (debian.BROWSER if tests else {})
    wanted = _cluster_tasks(programs, simulated_nodes=simulated_nodes, storage=storage) if cluster else []
    if pulumi:
        wanted += _pulumi_tasks(with_helm=not cluster)
    optional = [module for name in sorted(controllers) if not (module := go_module.CONTROLLERS[name]()).is_built]
    if optional and not golang.find() and not any(task.name == "go" for task in wanted):
        wanted.append(Task("go", _get_go))
    wanted += map(_build_task, optional)
    if cluster and tests and kafka.is_missing():
        # Both call apt, which allows one reader of its lists at a time.
        wanted.append(Task("kafka", _get_kafka, after=("debian packages",)))
    pins = python_packages.TESTS if tests else python_packages.STACKS
    # Elsewhere, whoever has installed tensorplane has installed them with it.
    if paths.is_checkout() and python_packages.is_missing(pins):
        wanted.append(Task("python packages", partial(python_packages.install, requirements=pins)))
    return wanted


def _cluster_tasks(programs: Mapping[str, str], *, simulated_nodes: bool, storage: bool) -> list[Task]:
    install = partial(debian.install, programs=programs)
    found = [Task("debian packages", install)] if debian.missing(programs) else []
    needed = [go_module.kubernetes(), go_module.containerd()]
    needed += [*([go_module.csi()] if storage else []), *([go_module.kwok()] if simulated_nodes else [])]
    building = [_build_task(module) for module in needed if not module.is_built]
    if simulated_nodes and charts.is_missing():
        building.append(Task("gpu charts", charts.obtain, after=("go",)))
    if building and not golang.find():
        found.append(Task("go", _get_go))
    return found + building


def _get_go(step: Step) -> None:
    golang.obtain(step)


def _get_kafka(step: Step) -> None:
    for jars in (kafka.BROKER, kafka.MIRROR_MAKER):
        kafka.obtain(step, jars)


def _pulumi_tasks(*, with_helm: bool) -> list[Task]:
    found = [] if pulumi.find() else [Task("pulumi", pulumi.obtain)]
    if with_helm and helm.is_missing():
        # After the CLI and the SDK, which determine the plugin's version.
        found.append(Task("helm", helm.obtain, after=("pulumi", "python packages")))
    return found


def _build_task(module: GoModule) -> Task:
    # What it downloads does not wait for Go.
    return Task(module.name, partial(go_build.build, module), after=() if releases.of(module) else ("go",))
