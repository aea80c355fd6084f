"""The files in which Pulumi keeps the states of the stacks of a home."""

from __future__ import annotations

from pathlib import Path


def state_files(home: Path) -> list[Path]:
    """The state of each stack, as PROJECT/STACK.json in the home's backend."""
    return sorted((home / "pulumi" / ".pulumi" / "stacks").glob("*/*.json"))


def has_state(home: Path, stack: str) -> bool:
    """Whether a home has the state of a stack."""
    return any(path.stem == stack for path in state_files(home))
