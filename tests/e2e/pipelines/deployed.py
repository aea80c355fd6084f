"""Deployed pipelines, and what their users do: commit files, start runs, read results.

Each command of a person starts a pod that mounts the dataset's volume, which takes seconds. Here one pod for each
volume answers them all.
"""

from __future__ import annotations

import io
import itertools
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.console import Console

from tensorplane import stack
from tensorplane.cli.access import Access
from tensorplane.cli.commands.data import remote, transfer
from tensorplane.cli.commands.data.remote import DatasetOptions, Remote
from tensorplane.cli.commands.logs import command as logs_command
from tensorplane.cli.commands.logs.pods import LogsOptions
from tensorplane.cli.commands.runs import start, tables
from tensorplane.cli.pipelines import listing
from tensorplane.cli.pipelines.listing import Run
from tensorplane.components.base.settings import Settings
from tensorplane.core.kube import Kube
from tensorplane.driver.update.stack import Stack
from tensorplane.stack import ResolvedStack
from tensorplane.stack_file import read
from tensorplane.workloads.pipeline import run as pipeline_run
from tests.support.waiting import PATIENT_SECONDS, eventually

_QUIET = Console(quiet=True)
_NUMBERS = itertools.count()


@contextmanager
def opened(kube: Kube, made: Stack, folder: Path) -> Iterator[Pipelines]:
    """The pipelines of a deployed stack, until the end of the block."""
    of = made.settings
    written = Settings.of_file(read(of.source()))
    resolved = stack.load(replace(written, tree={**written.tree, "namespace": of.namespace}))
    access = Access(kube, of.namespace, stack=of.name, declared=resolved.config.workloads)
    with ExitStack() as running:
        yield Pipelines(access, resolved, folder, _pods(access, resolved, running))


def _pods(access: Access, resolved: ResolvedStack, running: ExitStack) -> dict[str, str]:
    """A pod for each volume with datasets, until the end of a block: their paths in the API."""
    found: dict[str, str] = {}
    for name, args in resolved.config.datasets.items():
        if args.volume not in found:
            pod = remote.running(access.api, resolved, _options(access, name), args, read_only=False)
            found[args.volume] = running.enter_context(pod).pod
    return found


def _options(access: Access, dataset: str) -> DatasetOptions:
    return DatasetOptions(dataset, "", access.stack, "", "default")


@dataclass(frozen=True)
class Pipelines:
    """The stack with pipelines."""

    access: Access
    resolved: ResolvedStack
    folder: Path
    pods: Mapping[str, str]
    """The pods that mount the volumes of datasets, by volume: their paths in the API."""

    def commit(self, dataset: str, source: Path) -> str:
        """Commit the files of a folder and no others; the commit."""
        about = {"branch": "main", "author": "ann", "message": "", "at": "", "add": False}
        transfer.commit(self._dataset(dataset), _options(self.access, dataset), source, about, _QUIET)
        return str(self.newest(dataset)["id"])

    def put(self, dataset: str, /, **texts: str) -> str:
        """Commit these texts, by the names of their files; the commit."""
        source = self.new_folder()
        source.mkdir()
        for name, text in texts.items():
            (source / f"{name}.txt").write_text(text)
        return self.commit(dataset, source)

    def get(self, dataset: str) -> dict[str, str]:
        """The files of the newest version."""
        target = self.new_folder()
        transfer.checkout(self._dataset(dataset), _options(self.access, dataset), target, _QUIET)
        return {path.name: path.read_text() for path in target.iterdir()}

    def newest(self, dataset: str) -> dict[str, Any]:
        """The newest commit."""
        newest: dict[str, Any] = self.log(dataset)[0]["commit"]
        return newest

    def log(self, dataset: str) -> list[dict[str, Any]]:
        """Its commits, newest first."""
        found: list[dict[str, Any]] = self._dataset(dataset).ask("log", {"limit": 10_000})
        return found

    def logs(self, stage: str, choice: LogsOptions | None = None, *, follows: bool = False) -> list[str]:
        """What `tensorplane logs` prints."""
        printed = io.StringIO()
        console = Console(file=printed, width=300)
        logs_command.run(self.access, stage, choice or LogsOptions(), console, follows=follows)
        return printed.getvalue().splitlines()

    def listed(self, pipeline: str) -> list[str]:
        """What `tensorplane runs list` prints."""
        printed = io.StringIO()
        tables.show(self.access, pipeline, Console(file=printed, width=300), everything=True, as_json=False)
        return printed.getvalue().splitlines()

    def start(self, pipeline: str) -> str:
        """What a start on the newest versions says."""
        template = self.access.api.get(pipeline_run.path(pipeline_run.TEMPLATES, self.access.namespace, pipeline))
        assert template
        return start.start(self.access, self.resolved, template, "default")

    def run(self, pipeline: str) -> Run:
        """Start, and wait for the end."""
        return self.ended(self.start(pipeline).partition(":")[0])

    def runs(self, pipeline: str) -> list[dict[str, Any]]:
        """The Workflows of a pipeline."""
        found = self.access.api.items(pipeline_run.path(pipeline_run.WORKFLOWS, self.access.namespace))
        return [one for one in found if one["metadata"]["name"].startswith(f"{pipeline}-")]

    def delete_runs(self) -> None:
        """Deletes the Workflows of all pipelines. A claim stays while it has pods, which Argo keeps for an hour."""
        path = pipeline_run.path(pipeline_run.WORKFLOWS, self.access.namespace)
        for one in self.access.api.items(path):
            self.access.api.delete(f"{path}/{one['metadata']['name']}")

    def run_on(self, pipeline: str, *commits: str) -> Run:
        """The run that a trigger has started on these commits, at its end."""

        def name() -> str:
            here = [one for one in self.runs(pipeline) if set(commits) <= begun_on(one)]
            return str(here[0]["metadata"]["name"]) if here else ""

        return self.ended(eventually(name, about=lambda: self.runs(pipeline)))

    def ended(self, name: str) -> Run:
        """A run at its end."""
        path = pipeline_run.path(pipeline_run.WORKFLOWS, self.access.namespace, name)

        def now() -> Run:
            return listing.list_runs([self.access.api.get(path) or {}], datetime.now(UTC))[0]

        eventually(lambda: now().state in ("finished", "failed"), PATIENT_SECONDS * (1 + len(now().stages)), about=now)
        return now()

    def new_folder(self) -> Path:
        """The path of a folder that does not exist yet."""
        return self.folder / f"files-{next(_NUMBERS)}"

    def _dataset(self, name: str) -> Remote:
        volume = remote.declared(self.resolved, name).volume
        return remote.in_pod(self.access.api, self.pods[volume], self.resolved, name)


def begun_on(run: Mapping[str, Any]) -> set[str]:
    """The commits that a run has begun with."""
    return {one["value"] for one in run["spec"]["arguments"]["parameters"]}


def stages_of(run: Run) -> list[tuple[str, str, int | None, int, int, int]]:
    """Of each stage: state, parts, and how many were done, skipped and failed."""
    return [(one.stage, one.state, one.parts, one.done, one.skipped, one.failed) for one in run.stages]
