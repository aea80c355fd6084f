"""What a program needs of the machine, for tests that give it an environment of its own."""

from __future__ import annotations

import os


def of_machine() -> dict[str, str]:
    """PATH, and the TMPDIR that the session of tests removes: a program that is killed leaves its temporary files."""
    # Not once for all: what conftest.py imports is there before the session has its TMPDIR.
    return {name: os.environ[name] for name in ("PATH", "TMPDIR") if name in os.environ}
