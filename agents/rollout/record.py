"""The record of all decisions, as JSON lines beside the model's versions."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path

from agents.rollout.kept import Decision


def path_of(folder: Path, server: str) -> Path:
    """The record of one server's rollouts of the model in this folder."""
    return folder / ".rollouts" / f"{server}.jsonl"


def extend(file: Path, decisions: Sequence[Decision]) -> None:
    """Append the decisions that it lacks, whole lines at a time. Raises OSError."""
    lines = file.read_text().splitlines() if file.exists() else []
    known = {number for line in lines if (number := _number(line)) is not None}
    if missing := [each for each in decisions if each.number not in known]:
        file.parent.mkdir(exist_ok=True)
        with file.open("a") as record:
            # A line that was cut off by a kill ends here, and stays unread.
            cut_off = lines and _number(lines[-1]) is None
            record.write(("\n" if cut_off else "") + "".join(f"{_line(each)}\n" for each in missing))
            record.flush()
            os.fsync(record.fileno())


def _line(decision: Decision) -> str:
    return json.dumps(decision.plain(), sort_keys=True)


def _number(line: str) -> int | None:
    try:
        found: int = json.loads(line)["number"]
    except (ValueError, KeyError, TypeError):
        return None
    return found
