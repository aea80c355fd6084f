"""Answers `tensorplane lineage`."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.text import Text

from tensorplane.cli import stack_config
from tensorplane.cli.access import Access
from tensorplane.cli.commands.lineage import graph, openlineage, picture, text, version_paths
from tensorplane.cli.commands.lineage.graph import Graph
from tensorplane.cli.commands.lineage.volumes import Pods
from tensorplane.core.errors import UserError


@dataclass(frozen=True)
class VersionOptions:
    """Which version of a model or a dataset, in which stack."""

    target: str
    stack: str
    context: str
    account: str


@dataclass(frozen=True)
class OutputFormat:
    """How the answer is printed: as a tree, unless one of these is set."""

    svg: Path | None = None
    """The file that gets a picture."""
    as_json: bool = False
    openlineage: bool = False
    """Events of the standard, a line of JSON each."""


def run(options: VersionOptions, form: OutputFormat, console: Console) -> None:
    """Asks the volumes, and prints."""
    resolved = stack_config.load(stack_config.file(options.stack))
    target = version_paths.from_argument(options.target, resolved)
    access = Access.of(options.stack, None, options.context)
    with Pods(access.api, resolved, options.account) as pods:
        found = graph.of(target, resolved, pods)
    show(found, options.stack, form, console)


def show(found: Graph, stack: str, form: OutputFormat, console: Console) -> None:
    """Prints a graph, or writes its picture."""
    if form.svg:
        try:
            form.svg.write_text(picture.svg(found))
        except OSError as error:
            raise UserError(f"--svg: {form.svg}: {error.strerror or error}") from None
        console.print(Text(f"{form.svg}: written"), soft_wrap=True)
    elif form.as_json:
        print(json.dumps(text.plain(found), indent=2))
    elif form.openlineage:
        for event in openlineage.events(found, stack):
            print(json.dumps(event))
    else:
        console.print(text.tree(found))
