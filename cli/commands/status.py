"""`tensorplane status`: what is in a stack's cluster, as `make status` shows it."""

from __future__ import annotations

import argparse

from cli.command import Command, add_stack, context


def _run(args: argparse.Namespace) -> int:
    from driver import status

    status.status(context(), args.stack)
    return 0


COMMAND = Command("nodes, pods, volumes, queues and URLs of a stack's cluster", add_stack, _run)
