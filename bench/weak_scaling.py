"""Weak scaling: two workers with a core each, compared with one worker on one core and half the global batch."""

from __future__ import annotations

from functools import partial

from bench import rate
from bench.figure import Figure, Measured
from bench.local_workers import lines_of_first

_PAIRS = 7
_TRIED_BATCH, _UNIT = 1024, 256
_STEP_SECONDS = 0.2
"""What a step of one worker is to take, on a machine of any speed."""


def _measure() -> Measured:
    batch = _UNIT * max(1, round(_TRIED_BATCH * _STEP_SECONDS * _rate(1, _TRIED_BATCH) / _UNIT))
    found = rate.paired(rate.in_pairs(_PAIRS, partial(_rate, 2, batch), partial(_rate, 1, batch)))
    return Measured(
        found.median,
        f"a dense network with 6.6 MB of gradients, batches of {batch} for each worker: two workers "
        f"{found.first:.2f} steps/s, one {found.second:.2f} ({1000 / found.second:.0f} ms a step); {found.interval}",
    )


def _rate(workers: int, batch: int) -> float:
    """Steps per second of workers on a core each, with these examples for each of them."""
    lines = lines_of_first("scaling_program.py", (str(batch),), {"worker": workers}, own_cores=True)
    (rate_line,) = (line for _, line in lines if line.startswith("rate "))
    return float(rate_line.split()[1])


FIGURES = (Figure("weak-scaling", ">= 0.90", "x", _measure),)
