"""`tensorplane up`: deploys a stack, as `make up` does."""

from __future__ import annotations

import argparse

from cli.command import Command, add_stack, context


def _run(args: argparse.Namespace) -> int:
    from driver import exit_codes, up

    return exit_codes.run(lambda: up.up(context(), args.stack))


COMMAND = Command("deploy a stack, with the embedded cluster where the stack is on it", add_stack, _run)
