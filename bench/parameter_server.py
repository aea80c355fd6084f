"""The library's parameter-server loop, compared with the same program written by hand with `ClusterCoordinator`."""

from __future__ import annotations

from functools import partial

from bench import rate
from bench.figure import Figure, Measured
from bench.local_workers import lines_of_first

_PAIRS = 5
_WARM_UP = 500
_TASKS = {"chief": 1, "worker": 2, "ps": 1}


def _measure() -> Measured:
    found = rate.paired(rate.in_pairs(_PAIRS, partial(_rate, "library"), partial(_rate, "hand")))
    return Measured(
        found.median,
        f"two workers, one parameter server: by hand {found.second:.0f} steps/s, the library {found.first:.0f}; "
        f"{found.interval}",
    )


def _rate(way: str) -> float:
    return rate.steps_per_second(lines_of_first("parameter_server_program.py", (way,), _TASKS), _WARM_UP)


FIGURES = (Figure("parameter-server", ">= 0.98", "x", _measure),)
