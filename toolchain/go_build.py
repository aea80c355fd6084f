"""Makes a Go module's folder of programs: their releases are downloaded, the others compiled, one module at a time."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from tensorplane.core.errors import UserError
from tensorplane.core.step import Step
from tensorplane.core.tasks import command
from tensorplane.toolchain import charts, golang, releases
from tensorplane.toolchain.go_module import GoModule
from tensorplane.toolchain.golang import Go
from tensorplane.toolchain.tool_folders import made_whole

# Builds on the critical path come first: images and the cluster need Kubernetes.
_ORDER = (
    "csi",
    "kubernetes",
    "pulumi",
    "containerd",
    "kwok",
    "metrics-server",
    "argo-workflows",
    "prometheus",
    "keda",
    "traefik",
    "helm",
)


class _Turns:
    """One compile at a time, the most urgent first: a single one keeps all cores busy until it only links."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._waiting: list[int] = []
        self._compiling: object = None

    @contextmanager
    def turn(self, urgency: int) -> Iterator[Callable[[], None]]:
        """Waits for the turn, and gives what ends it early: linking leaves cores to the next."""
        with self._changed:
            self._waiting.append(urgency)
            self._changed.wait_for(lambda: self._compiling is None and urgency == min(self._waiting))
            self._waiting.remove(urgency)
            self._compiling = own = object()

        def end() -> None:
            with self._changed:
                if self._compiling is own:
                    self._compiling = None
                    self._changed.notify_all()

        try:
            yield end
        finally:
            end()


_turns = _Turns()
_BESIDE_OTHERS = "pulumi"
"""What does not keep its turn: its last packages need each other, so that cores would be idle."""


def build(module: GoModule, step: Step) -> None:
    """Makes the module's folder, unless it exists: with the releases that can be had, the other programs compiled."""
    with made_whole(module.folder, step) as draft:
        if draft:
            programs = draft / "bin"
            programs.mkdir()
            # A module with charts or definitions has programs without a release, so it is never empty.
            if rest := module.without(releases.install(module, programs, step)):
                _build(rest, draft, step)


def _build(module: GoModule, draft: Path, step: Step) -> None:
    go = golang.obtain(step)
    built = _copied(module, go, draft / "source", step) if module.copied else module
    _download(built, go, step)
    step.note("waiting for its turn to compile")
    with _turns.turn(_urgency(module)) as end_turn:
        if module.name == _BESIDE_OTHERS:
            end_turn()
        _compile(built, go, draft / "bin", step, end_turn)
    _copy_charts(built, go, draft / "charts", step)
    _copy_crds(built, go, draft / "crds", step)
    own_chart(built, go, draft / "charts" / module.name, step)
    if module.copied:
        shutil.rmtree(draft / "source")


def _urgency(module: GoModule) -> int:
    return _ORDER.index(module.name) if module.name in _ORDER else len(_ORDER)


def _copied(module: GoModule, go: Go, folder: Path, step: Step) -> GoModule:
    """The module with a copy as its source. What is copied is verified against go.sum."""
    charts.keep(_downloaded(module, go, module.copied, step), folder)
    if module.chart:
        charts.keep(module.chart, folder / module.chart.name)
    shutil.copytree(module.added, folder, dirs_exist_ok=True)
    return replace(module, source=folder)


def _download(module: GoModule, go: Go, step: Step) -> None:
    # Loading the packages only fetches their modules, unlike `go mod download`.
    step.note("downloading its modules")
    _ask(module, go, step, "-deps", "-f={{with .Error}}{{.}}{{end}}", *module.flags, *module.packages)


def _compile(module: GoModule, go: Go, folder: Path, step: Step, all_compiled: Callable[[], None]) -> None:
    step.note("counting its packages")
    total = _count_stale(module, go, folder, step)
    done = 0

    def watch(line: str) -> None:
        nonlocal done
        done += 1
        step.advance(done, total)
        step.note(f"compiling {line}")
        if done == total:
            all_compiled()

    arguments = ["build", "-v", *module.build_flags, "-o", f"{folder}/", *module.packages]
    command([go.program, *arguments], step=step, env=go.environment, cwd=module.source, watch=watch)
    for program, names in module.names.items():
        for name in names:
            (folder / name).symlink_to(program)
    missing = [name for name in module.programs if not (folder / name).exists()]
    if missing:
        raise UserError(
            f"{module.name}: go build did not make {', '.join(missing)}; check the tool lines of its go.mod"
        )


def _count_stale(module: GoModule, go: Go, folder: Path, step: Step) -> int:
    # A dry run prints the folder of an action for each package that the build cache lacks.
    arguments = ["build", "-n", *module.build_flags, "-o", f"{folder}/", *module.packages]
    count = 0

    def watch(line: str) -> None:
        nonlocal count
        count += line.startswith("mkdir -p $WORK/b")

    no_log = Path(os.devnull)
    command([go.program, *arguments], step=step, env=go.environment, cwd=module.source, log=no_log, watch=watch)
    return count


def _copy_charts(module: GoModule, go: Go, folder: Path, step: Step) -> None:
    if not module.charts:
        return
    # The module cache is verified against go.sum, so the charts have the version of the programs.
    for line in _ask(module, go, step, "-m", "-f={{.Path}} {{.Dir}}", *module.charts).splitlines():
        module_path, _, source = line.partition(" ")
        name = Path(module_path).name
        charts.keep(Path(source) / "charts" / name, folder / name)


def _copy_crds(module: GoModule, go: Go, folder: Path, step: Step) -> None:
    for source in _ask(module, go, step, "-m", "-f={{.Dir}}", *module.crds).splitlines() if module.crds else ():
        charts.keep(Path(source) / "config" / "crd", folder)


def own_chart(module: GoModule, go: Go, folder: Path, step: Step) -> None:
    """Copies the module's own chart, if it has one, with upstream's manifests as further templates or definitions."""
    if not module.chart:
        return
    charts.keep(module.chart, folder)
    for subfolder, wanted in (("templates", module.manifests), ("crds", module.definitions)):
        for name, patterns in wanted.items():
            source = _downloaded(module, go, name, step)
            (folder / subfolder).mkdir(exist_ok=True)
            for path in sorted(path for pattern in patterns for path in source.glob(pattern)):
                # Paths as names: upstream has files of one name in several folders.
                shutil.copyfile(path, folder / subfolder / str(path.relative_to(source)).replace("/", "-"))


def _downloaded(module: GoModule, go: Go, name: str, step: Step) -> Path:
    """The folder of a module that this one requires, or its own."""
    step.note(f"downloading {name}")
    command([go.program, "mod", "download", name], step=step, env=go.environment, cwd=module.source)
    return Path(_ask(module, go, step, "-m", "-f={{.Dir}}", name).strip())


def _ask(module: GoModule, go: Go, step: Step, *arguments: str) -> str:
    """`go list`, with its downloads as the step's note."""

    def watch(line: str) -> None:
        if line.startswith("go: downloading "):
            step.note(line.removeprefix("go: "))

    return command([go.program, "list", *arguments], step=step, env=go.environment, cwd=module.source, watch=watch)
