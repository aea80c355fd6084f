"""`tensorplane catalog`: the rows of the catalog that match a question, as a table or as JSON."""

from __future__ import annotations

import argparse

from cli.command import Command, add_json


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--cloud", help="one of them, such as eks")
    parser.add_argument("--accelerator", help="one of them, such as t4, a100-80gb, tpu-v5e")
    parser.add_argument("--kind", help="gpu, tpu or cpu (default: gpu and tpu)")
    parser.add_argument("--min-memory", default="0", metavar="GIB", help="minimum GiB of memory per accelerator")
    parser.add_argument("--region", help="offers and prices of this region (default: those of the cheapest region)")
    parser.add_argument("--withdrawn", action="store_true", help="withdrawn accelerators, with their successors")
    add_json(parser, "every fact, with its source")


def _run(args: argparse.Namespace) -> int:
    from cli.commands.catalog import query
    from driver import terminal

    # Unset variables of make arrive as empty texts.
    filters = {key: getattr(args, key) or None for key in ("cloud", "accelerator", "kind", "region")}
    question = query.Question(**filters, min_memory=query.gibibytes(args.min_memory or "0"), withdrawn=args.withdrawn)
    query.run(question, args.json, terminal.console())
    return 0


COMMAND = Command("accelerators and machines, where they are offered and at what price", _arguments, _run)
