"""The library's parameter-server loop, compared with the same program written by hand with `ClusterCoordinator`."""

from __future__ import annotations

from bench import rate
from bench.figure import Figure, Measured
from bench.workers import lines_of_first

_PAIRS = 5
_WARM_UP = 500
_TASKS = {"chief": 1, "worker": 2, "ps": 1}


def _measure() -> Measured:
    found = rate.paired([(_rate("library"), _rate("hand")) for _ in range(_PAIRS)])
    return Measured(
        found.median,
        f"two workers, one parameter server: by hand {found.second:.0f} steps/s, the library {found.first:.0f}; "
        f"{found.interval}",
    )


def _rate(way: str) -> float:
    return rate.steps_per_second(lines_of_first("parameter_server_program.py", (way,), _TASKS), _WARM_UP)


FIGURES = (Figure("parameter-server", ">= 0.98", "x", _measure),)
