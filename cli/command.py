"""A command of `tensorplane`: its help, its arguments, and what runs."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Command:
    """A command: COMMAND in `cli/commands/NAME.py` or `cli/commands/NAME/__init__.py`. Its name is that of the module.

    `tensorplane --help` imports the module too, so the command's dependencies are only imported in `run`: importing the
    stack takes a second.
    """

    help: str
    """One line, without a full stop."""
    arguments: Callable[[argparse.ArgumentParser], None]
    """Adds the command's own arguments."""
    run: Callable[[argparse.Namespace], int]
    """Returns the exit code; raises a Fault with a line for each mistake."""
    epilog: str | None = None
    """Text below the command's own help."""


def add_stack(parser: argparse.ArgumentParser) -> None:
    """The argument of commands about a stack."""
    parser.add_argument("--stack", default="dev", help="name of a Pulumi.<stack>.yaml (default: dev)")


def add_json(parser: argparse.ArgumentParser, text: str = "every fact, for programs") -> None:
    """The argument of commands that print JSON for programs."""
    parser.add_argument("--json", action="store_true", help=text)


def context() -> str:
    """The kubeconfig context that replaces the one in the stack's file; empty if none is set."""
    return os.environ.get("TENSORPLANE_CONTEXT", "")
