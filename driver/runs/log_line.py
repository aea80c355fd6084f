"""Lines that tensorplane's library prints (`runtime/tensorplane/log.py`), in words for a person who follows a run."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from tensorplane.core.times import duration

_PREFIX = "tensorplane: "
_TENSORFLOWS = re.compile(
    r"[IW]\d{4} \d\d:\d\d:|\d{4}-\d\d-\d\d \d\d:\d\d:[\d.]+: [IW] |WARNING: All log messages before absl::"
)
"""How informational lines and warnings of TensorFlow's C++ code begin: they come at every start."""
_PAIR = re.compile(r'(\w+)=("(?:[^"\\]|\\.)*"|\S*)')


def parse(line: str) -> dict[str, str]:
    """The values of a line by name; none if the library did not print it."""
    if not line.startswith(_PREFIX):
        return {}
    return {name: _value(word) for name, word in _PAIR.findall(line.removeprefix(_PREFIX))}


def newest(lines: Sequence[str]) -> str:
    """The newest of these lines, or the last progress in words if the library printed the newest; empty if none.

    TensorFlow's own informational lines are passed over.
    """
    lines = [line for line in lines if not _TENSORFLOWS.match(line)]
    if not lines or not parse(lines[-1]):
        return lines[-1] if lines else ""
    reports = (found for line in reversed(lines) if "steps_per_second" in (found := parse(line)))
    report = next(reports, None)
    return _in_words(report) if report else lines[-1]


def _in_words(report: dict[str, str]) -> str:
    percent, eta = report.get("percent"), report.get("eta_seconds")
    words = [
        f"step {report.get('step')}" + (f" ({float(percent):.0f} %)" if percent else ""),
        *([f"loss {report['loss']}"] if "loss" in report else []),
        f"{report['steps_per_second']} steps/s",
        *([f"{duration(int(eta))} left"] if eta and int(eta) else []),
    ]
    return ", ".join(words)


def _value(word: str) -> str:
    return str(json.loads(word)) if word.startswith('"') else word
