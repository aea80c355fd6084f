"""The newest versions that a run of a pipeline begins with, and those of its outputs, read in a pod of each volume."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tensorplane.cli.access import Access
from tensorplane.cli.commands.data import remote
from tensorplane.cli.commands.data.remote import DatasetOptions, Remote
from tensorplane.core.errors import UserError
from tensorplane.stack import ResolvedStack
from tensorplane.workloads.pipeline import run as pipeline_run
from tensorplane.workloads.pipeline.run import Source
from tensorplane.workloads.pipeline.settings import MAIN

Log = list[Mapping[str, Any]]
"""Commits, the newest first."""


def read(
    access: Access, resolved: ResolvedStack, template: Mapping[str, Any], account: str
) -> tuple[dict[str, str], dict[str, Log]]:
    """The newest commits that a run can begin with, by the names of its parameters, and the newest commits of each
    output. A UserError if there is none to begin with.
    """
    sources, outputs = pipeline_run.sources(template), pipeline_run.outputs(template)
    heads: dict[str, Mapping[str, Any]] = {}
    logs: dict[str, Log] = {}
    for dataset, remote_ in _opened(access, resolved, {*(one.dataset for one in sources.values()), *outputs}, account):
        heads[dataset] = remote_.ask("branches")["branches"]
        if dataset in outputs:
            logs[dataset] = _log(remote_) if MAIN in heads[dataset] else []
    return {name: _head(access, one, heads[one.dataset]) for name, one in sources.items()}, logs


def _opened(
    access: Access, resolved: ResolvedStack, datasets: Iterable[str], account: str
) -> Iterator[tuple[str, Remote]]:
    """Each dataset, in one pod for those of a volume."""
    on: dict[str, list[str]] = {}
    for name in sorted(datasets):
        on.setdefault(remote.declared(resolved, name).volume, []).append(name)
    for names in on.values():
        opts = DatasetOptions(names[0], "", access.stack, access.context, account)
        args = remote.declared(resolved, names[0])
        with remote.running(access.api, resolved, opts, args, read_only=True) as first:
            for name in names:
                yield name, remote.in_pod(access.api, first.pod, resolved, name)


def _log(dataset: Remote) -> Log:
    found = dataset.ask("log", {"reference": MAIN, "limit": pipeline_run.LOOKED_BACK})
    return [one["commit"] for one in found]


def _head(access: Access, source: Source, branches: Mapping[str, Any]) -> str:
    if source.branch in branches:
        return str(branches[source.branch]["id"])
    put = access.command(f"data put {source.dataset} FOLDER --branch {source.branch}")
    raise UserError(f"{source.dataset}: branch {source.branch} has no version; commit one with: {put}")
