"""`tensorplane tiers`: which queue gets which flavors, from the settings alone."""

from __future__ import annotations

import argparse

from cli.command import Command, add_json, add_stack


def _arguments(parser: argparse.ArgumentParser) -> None:
    add_stack(parser)
    add_json(parser)


def _run(args: argparse.Namespace) -> int:
    from cli import stack_config
    from cli.commands.tiers import query
    from driver import terminal

    query.run(stack_config.file(args.stack), terminal.console(), as_json=args.json)
    return 0


COMMAND = Command(
    "which queue gets which flavors: guaranteed, borrowable, never; from the settings alone", _arguments, _run
)
