"""What a figure is, and how figures are printed and recorded."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from rich.console import Console
from rich.table import Table

from tensorplane.core.errors import UserError
from tensorplane.core.paths import PROJECT

T = TypeVar("T")

RESULTS = PROJECT / "bench" / "results.json"


@dataclass(frozen=True)
class Measured:
    """One measured value; `peer`: what it was compared with in the same run."""

    value: float
    peer: str = ""


def once(measure: Callable[[], T]) -> Callable[[], T]:
    """One measurement for several figures. If it fails, all of them get its UserError, and it is not made again."""

    @functools.cache
    def outcome() -> tuple[T] | UserError:
        try:
            return (measure(),)
        except UserError as error:
            return error

    def shared() -> T:
        found = outcome()
        if isinstance(found, UserError):
            raise found
        return found[0]

    return shared


@dataclass(frozen=True)
class Figure:
    """One figure: what is measured, in which unit, and the goal as `<= 90` or `>= 0.95`."""

    name: str
    goal: str
    unit: str
    measure: Callable[[], Measured]
    by_name: bool = False
    """Whether it takes long, so that it is only measured if it is named."""

    def met(self, value: float) -> bool:
        """Whether a value reaches the goal."""
        sign, limit = self.goal.split()
        return value <= float(limit) if sign == "<=" else value >= float(limit)


def record(figure: Figure, measured: Measured, results: Path = RESULTS) -> None:
    """Adds one value to the results of earlier measurements."""
    known = json.loads(results.read_text()) if results.exists() else {}
    known[figure.name] = {
        "measured": round(measured.value, 3),
        "goal": figure.goal,
        "met": figure.met(measured.value),
        "unit": figure.unit,
    }
    results.write_text(json.dumps(known, indent=2, sort_keys=True) + "\n")


def show(console: Console, rows: list[tuple[Figure, Measured]]) -> None:
    """Prints the table of what was measured."""
    table = Table(box=None, padding=(0, 2, 0, 0))
    for heading in ("figure", "measured", "goal", "peer"):
        table.add_column(heading)
    for figure, measured in rows:
        style = "green" if figure.met(measured.value) else "bold red"
        value = f"[{style}]{measured.value:.3g} {figure.unit}[/{style}]"
        table.add_row(figure.name, value, f"{figure.goal} {figure.unit}", measured.peer)
    console.print(table)
