"""Deletes what no version of a dataset has."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from cli.commands.data import remote
from cli.commands.data.remote import DatasetOptions, Remote
from components.base import quantities
from components.base.plural import counted
from core import terminal
from core.errors import UserError


def run(opts: DatasetOptions, *, now: bool) -> None:
    """Deletes it, and says how much that was."""
    if opts.reference:
        raise UserError(f"{opts.dataset}@{opts.reference}: collect takes a whole dataset; remove the reference")
    with remote.opened(opts, read_only=False) as dataset:
        collect(dataset, opts, terminal.console(), now=now)


def collect(dataset: Remote, opts: DatasetOptions, console: Console, *, now: bool) -> None:
    """The same for a dataset in a pod."""
    deleted = dataset.ask("collect", {**dataset.asked(opts.dataset), "now": now})
    line = f"{opts.dataset}: deleted {quantities.size(deleted['bytes'])}: {counted(deleted['objects'], 'content')}"
    if deleted["versions"]:
        line += f", {counted(deleted['versions'], 'folder')} of versions"
    if not now:
        line += "; what was written or read in the last 24 hours stays (--now deletes what no kept version has)"
    console.print(Text(line), soft_wrap=True)
