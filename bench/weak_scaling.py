"""Weak scaling: two workers with a core each, compared with one worker on one core and half the global batch."""

from __future__ import annotations

from functools import partial

from bench import rate
from bench.figure import Figure, Measured
from bench.workers import lines_of_first

_PAIRS = 7


def _measure() -> Measured:
    found = rate.paired(rate.in_pairs(_PAIRS, partial(_rate, 2), partial(_rate, 1)))
    return Measured(
        found.median,
        f"a dense network with 6.6 MB of gradients: two workers {found.first:.2f} steps/s, one {found.second:.2f} "
        f"({1000 / found.second:.0f} ms a step); {found.interval}",
    )


def _rate(workers: int) -> float:
    """Steps per second of workers on a core each."""
    lines = lines_of_first("scaling_program.py", (), {"worker": workers}, own_cores=True)
    (rate_line,) = (line for _, line in lines if line.startswith("rate "))
    return float(rate_line.split()[1])


FIGURES = (Figure("weak-scaling", ">= 0.90", "x", _measure),)
