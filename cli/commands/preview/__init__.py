"""`tensorplane preview`: the engine's preview with the policy pack, as a table here and as Markdown for a reviewer."""

from __future__ import annotations

import argparse
from pathlib import Path

from cli.command import Command, add_stack, context


def _arguments(parser: argparse.ArgumentParser) -> None:
    add_stack(parser)
    parser.add_argument("--report", type=Path, default=Path("preview.md"), help="path of the Markdown report")


def _run(args: argparse.Namespace) -> int:
    from cli.commands.preview import show
    from driver import terminal

    return show.run(args.stack, context(), args.report, terminal.console())


COMMAND = Command("what `pulumi up` would change, with the policies' verdicts", _arguments, _run)
