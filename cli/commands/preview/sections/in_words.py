"""What changes, in the words of a review: a line for each node group, volume, queue and workload, or for many."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from tensorplane.cli.commands.preview import dataset_folders, flavors, images, limits, mounts, words
from tensorplane.cli.commands.preview.head import Block
from tensorplane.cli.commands.preview.report import Report
from tensorplane.cli.commands.preview.section import together
from tensorplane.cli.output.texts import parts


def lines(report: Report) -> list[str]:
    """Names are in bold. Images of another registry or repository are first, then what has few like it."""
    others = [
        *words.lines(report),
        *mounts.lines(report),
        *dataset_folders.lines(report),
        *flavors.lines(report),
        *limits.lines(report),
        *images.versions(report),
    ]
    return [*images.moved(report), *together(report, others)]


def terminal(report: Report, _: int) -> Iterator[Text]:
    """A line each, with the names in bold."""
    for line in lines(report):
        yield Text.assemble(*((part, "bold" if is_bold else "") for part, is_bold in parts(line)))


def head(report: Report) -> Iterator[Block]:
    """A list."""
    if found := lines(report):
        yield Block("What changes", found, is_list=True, when=f", {report.when}" if report.when else "")
