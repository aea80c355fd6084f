"""Answers `tensorplane lineage`."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.text import Text

from cli import stack_config
from cli.access import Access
from cli.commands.lineage import graph, named, picture, text
from cli.commands.lineage.graph import Graph
from cli.commands.lineage.volumes import Pods
from embedded.fault import Fault


@dataclass(frozen=True)
class Question:
    """The command's arguments."""

    target: str
    stack: str
    context: str
    account: str


def run(question: Question, console: Console, *, svg: Path | None, as_json: bool) -> None:
    """Asks the volumes, and prints."""
    resolved = stack_config.load(stack_config.file(question.stack))
    target = named.target(question.target, resolved)
    access = Access.of(question.stack, None, question.context)
    with Pods(access.api, resolved, question.account) as pods:
        show(graph.of(target, resolved, pods), console, svg=svg, as_json=as_json)


def show(found: Graph, console: Console, *, svg: Path | None, as_json: bool) -> None:
    """Prints a graph, or writes its picture."""
    if svg:
        try:
            svg.write_text(picture.svg(found))
        except OSError as error:
            raise Fault(f"--svg: {svg}: {error.strerror or error}") from None
        console.print(Text(f"{svg}: written"), soft_wrap=True)
    elif as_json:
        print(json.dumps(text.plain(found), indent=2))
    else:
        console.print(text.tree(found))
