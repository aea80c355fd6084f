"""Where the command `tensorplane` begins. An older Python has the library alone: it is told so, in one line."""

import sys


def main() -> int:
    """Runs the command; 1 if this Python is too old for it."""
    if sys.version_info < (3, 11):  # noqa: UP036  # the wheel installs on 3.9, for its library
        has = ".".join(map(str, sys.version_info[:2]))
        print(
            f"tensorplane: needs Python 3.11 or newer, and this is {has}; install it with a newer one", file=sys.stderr
        )
        return 1
    from tensorplane.cli.__main__ import run

    return run()
