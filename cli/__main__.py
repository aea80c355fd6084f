"""`python -m cli COMMAND`: questions about a stack. Parses, calls, and turns faults into lines and exit codes."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from cli import preview
from embedded import terminal
from embedded.fault import Fault
from embedded.paths import PROJECT


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m cli", description="Questions about a stack of tensorplane.")
    commands = parser.add_subparsers(dest="command", required=True)
    asked = commands.add_parser("preview", help="what `pulumi up` would change, with the policies' verdicts")
    asked.add_argument("--stack", default="dev", help="name of a Pulumi.<stack>.yaml (default: dev)")
    asked.add_argument("--report", type=Path, default=Path("preview.md"), help="where the Markdown goes")
    checked = commands.add_parser("check", help="what is wrong with a stack's settings, a line each")
    checked.add_argument("--stack", default="dev", help="name of a Pulumi.<stack>.yaml (default: dev)")
    commands.add_parser("settings", help="every key of a stack's settings, as Markdown")
    return parser


def main() -> int:
    """Run the command; 0 when it worked, 1 after faults (printed, a line each), 130 after Ctrl-C."""
    args = _parser().parse_args()
    if args.command == "settings":
        return _print_settings()
    context = os.environ.get("TENSORPLANE_CONTEXT", "")
    try:
        if args.command == "check":
            return _check(args.stack)
        return preview.run(args.stack, context, args.report, terminal.console())
    except Fault as fault:
        print(*fault.lines, sep="\n", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("Interrupted; nothing was changed.", file=sys.stderr)
        return 130


def _check(stack: str) -> int:
    from cli import check  # as below

    check.run(PROJECT / f"Pulumi.{stack}.yaml")
    return 0


def _print_settings() -> int:
    from cli import settings_reference  # the whole stack behind it takes a second to import

    print(settings_reference.render(), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
