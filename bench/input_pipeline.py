"""The library's input pipeline, compared with a naive `Dataset.map`, where decoding takes over 2 ms.

TensorFlow makes a plain `map` parallel by default, so the figures compare with a `map` of one sample at a time and give
the rate of the default beside it. A pipeline tuned by hand, with parallel `map`, `cache` and `prefetch`, is measured
beside them: it has no random order after a restart, and its cache is of one process.
"""

from __future__ import annotations

import functools
import json
import statistics
import subprocess
import sys
from typing import Any

from bench import local_workers, rate
from bench.figure import Figure, Measured, once
from tensorplane.core.errors import UserError
from tensorplane.core.paths import PROJECT

_DECODE_MS = 2.0


@once
def _rates() -> dict[str, Any]:
    """What the program measured: once for all figures, in a process that has the library as pods have it."""
    done = subprocess.run(
        [sys.executable, str(PROJECT / "bench/input_program.py")],
        env=local_workers.environment(),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    found: dict[str, Any] = json.loads(done.stdout)
    for kind in ("reduced", "cut"):
        if (decode := _decode_ms(found[kind])) < _DECODE_MS:
            raise UserError(
                f"a sample takes {decode:.1f} ms, less than the {_DECODE_MS:.0f} ms that the figure is about"
            )
    return found


def _decode_ms(rates: dict[str, Any]) -> float:
    return 1000 / float(statistics.median(rates["naive"]))


def _ratio(kind: str, epoch: str) -> Measured:
    rates = _rates()[kind]
    found = rate.paired(list(zip(rates[epoch], rates["naive"], strict=True)))
    parallel, tuned = (statistics.median(rates[name]) for name in ("naive parallelized", f"tuned {epoch}"))
    return Measured(
        found.median,
        f"Dataset.map {found.second:.0f} samples/s ({_decode_ms(rates):.1f} ms a sample), parallelized {parallel:.0f}, "
        f"the library {found.first:.0f}, tuned by hand {tuned:.0f}; {found.interval}",
    )


def _wait() -> Measured:
    return Measured(100 * float(_rates()["wait"]), "a small convolutional network, batches of 32 from the cache")


FIGURES = (
    Figure("input-first-epoch", ">= 1.7", "x", functools.partial(_ratio, "cut", "first")),
    Figure("input-first-epoch-reduced", ">= 1.7", "x", functools.partial(_ratio, "reduced", "first")),
    Figure("input-later-epochs", ">= 5", "x", functools.partial(_ratio, "cut", "later")),
    Figure("input-wait", "<= 5", "% of a step", _wait),
)
