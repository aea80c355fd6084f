"""`tensorplane volumes`: a stack's volumes, their snapshots and mirrors, and data left from deleted ones."""

from __future__ import annotations

import argparse

from cli.command import Command, add_json, add_stack, context


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", nargs="?", help="a volume, to list its snapshots")
    add_stack(parser)
    add_json(parser)
    parser.add_argument(
        "--bring-back",
        action="store_true",
        help="print the objects that restore VolumeSnapshotContent NAME as a snapshot",
    )


def _run(args: argparse.Namespace) -> int:
    from cli.commands.volumes import query
    from driver import terminal

    question = query.Question(args.stack, context(), args.name, args.json, args.bring_back)
    query.run(question, terminal.console())
    return 0


COMMAND = Command("volumes, snapshots, mirrors, and data left from deleted volumes", _arguments, _run)
