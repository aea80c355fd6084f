"""Runs the host's own small programs (ip, nft, mount) and turns their failures into a UserError."""

from __future__ import annotations

import subprocess

from tensorplane.core import command_lines
from tensorplane.core.errors import UserError


def run(*argv: str, stdin: str | None = None) -> str:
    """The program's output; a UserError with its last error line if it fails or is absent."""
    try:
        done = subprocess.run(argv, input=stdin, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise UserError(
            f"{argv[0]}: not found on this machine; install it (the first check of `{command_lines.deploy()}` names "
            "its package)"
        ) from None
    if done.returncode != 0:
        lines = (done.stderr or done.stdout).strip().splitlines() or [f"exit status {done.returncode}"]
        raise UserError(f"{' '.join(argv)}: {lines[-1]}")
    return done.stdout
