"""`tensorplane check`: what is wrong with a stack's settings, without an engine; with --cluster also against it."""

from __future__ import annotations

import argparse

from cli.command import Command, add_stack, context


def _arguments(parser: argparse.ArgumentParser) -> None:
    add_stack(parser)
    parser.add_argument(
        "--cluster", action="store_true", help="also compare with the stack's cluster: classes, snapshots, sizes, nodes"
    )


def _run(args: argparse.Namespace) -> int:
    from cli import stack_config
    from cli.commands.check import settings

    file, compare = stack_config.file(args.stack), None
    if args.cluster:
        # The client of Kubernetes' API takes as long to import as the check of the settings takes.
        from cli.commands.check import cluster

        compare = cluster.comparison(args.stack, context())
    print(settings.run(file, compare))
    return 0


COMMAND = Command("what is wrong with a stack's settings, a line each", _arguments, _run)
