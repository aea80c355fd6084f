"""`tensorplane COMMAND`: questions about a stack. Parses, runs the command, and maps faults to exit codes."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable

from cli import registry
from embedded.fault import Fault


def parser(names: Iterable[str]) -> argparse.ArgumentParser:
    """The parser of these commands."""
    made = argparse.ArgumentParser(prog="tensorplane", description="Questions about a stack of tensorplane.")
    commands = made.add_subparsers(dest="command", required=True)
    for name in names:
        command = registry.load(name)
        of_command = commands.add_parser(name, help=command.help, epilog=command.epilog)
        command.arguments(of_command)
        of_command.set_defaults(run=command.run)
    return made


def main() -> int:
    """Run the command; returns 0 on success, 1 after faults (printed, a line each), 130 after Ctrl-C."""
    names = registry.names()
    # Help and unknown commands need all of them.
    args = parser([name for name in names if name in sys.argv[1:2]] or names).parse_args()
    try:
        return int(args.run(args))
    except Fault as fault:
        print(*fault.lines, sep="\n", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("Interrupted; nothing was changed.", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
