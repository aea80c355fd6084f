"""What a program needs of the machine, for tests that give it an environment of its own."""

from __future__ import annotations

import os

OF_MACHINE = {name: os.environ[name] for name in ("PATH", "TMPDIR") if name in os.environ}
"""TMPDIR is the folder that the session of tests removes: a program that is killed leaves its temporary files there."""
