"""Processes that tests look at by their number."""

from __future__ import annotations

from pathlib import Path


def is_alive(number: int) -> bool:
    """Whether it runs. One that has ended may stay as a zombie for as long as its parent does not ask for it."""
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False
