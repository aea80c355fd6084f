"""`tensorplane settings`: every key of the stack's settings as Markdown, or those of one page of docs/settings."""

from __future__ import annotations

import argparse

from cli.command import Command


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("page", nargs="?", default="", help="one of them, such as queues, cluster-eks (default: all)")


def _run(args: argparse.Namespace) -> int:
    from cli.commands.settings import reference
    from embedded.fault import Fault

    pages = reference.pages()
    if args.page and args.page not in pages:
        raise Fault(f"page {args.page} does not exist; choose one of {', '.join(sorted(pages))}")
    print("\n".join([pages[args.page]] if args.page else pages.values()), end="")
    return 0


COMMAND = Command("every key of a stack's settings, as Markdown", _arguments, _run)
