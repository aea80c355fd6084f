"""What checkpoints cost a training, and how near the computed interval is to the best one."""

from __future__ import annotations

import json
import random
import statistics
import subprocess
import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from bench import rate, workers
from bench.figure import Figure, Measured
from embedded.images.scratch import scratch

_ROUNDS = 5
_SECONDS = 20.0
_LOST_STEPS = 10
_SWEPT = (1, 2, 3, 5, 8, 13, 20, 40)
_MINUTES = 0.5
_RESTART_SECONDS = 10.0
_INTERRUPTIONS = 20_000


@dataclass(frozen=True)
class _Trained:
    """One process of `checkpoint_program.py`."""

    step_seconds: float
    """Mean, with what saves cost."""
    interval: int


def _train(folder: Path, *, steps: int = 0, minutes: float = 0) -> _Trained:
    program = Path(__file__).with_name("checkpoint_program.py")
    argv = [
        sys.executable,
        str(program),
        str(folder / f"run-{steps}-{minutes}"),
        str(_SECONDS),
        str(steps),
        str(minutes),
    ]
    done = subprocess.run(argv, env=workers.environment(), check=True, capture_output=True, text=True)
    facts = json.loads(done.stdout.splitlines()[-1])
    return _Trained(facts["seconds"] / facts["steps"], facts["interval"])


def _overhead() -> Measured:
    """In pairs, because the machine's speed varies."""
    with scratch("bench") as folder:
        pairs = rate.in_pairs(_ROUNDS, partial(_train, folder, steps=_LOST_STEPS), partial(_train, folder))
    share = statistics.median(saving.step_seconds / without.step_seconds - 1 for saving, without in pairs)
    without = statistics.median(each.step_seconds for _, each in pairs)
    return Measured(
        100 * share,
        f"without checkpoints {1000 * without:.0f} ms a step; 48 MB every {_LOST_STEPS} steps, "
        f"median of {_ROUNDS} pairs",
    )


def _computed() -> Measured:
    """Measured times of each interval, and the same drawn interruptions for all."""
    with scratch("bench") as folder:
        computed = _train(folder, minutes=_MINUTES).interval
        intervals = sorted({*_SWEPT, computed})
        rates = {steps: _goodput(steps, _train(folder, steps=steps).step_seconds) for steps in intervals}
    best = max(rates, key=lambda steps: rates[steps])
    return Measured(
        rates[computed] / rates[best],
        f"every {computed} steps computed, best swept {best}; one interruption in {60 * _MINUTES:.0f} s",
    )


def _goodput(interval: int, step_seconds: float) -> float:
    """Steps that stay, per second: interruptions lose what came after the last save, and the time of a restart."""
    chance = random.Random(1)  # noqa: S311  # no secret
    kept = spent = 0.0
    for _ in range(_INTERRUPTIONS):
        runs = chance.expovariate(1 / (60 * _MINUTES))
        kept += runs // (interval * step_seconds) * interval
        spent += runs + _RESTART_SECONDS
    return kept / spent


FIGURES = (
    Figure("checkpoint-overhead", "<= 3.5", "%", _overhead),
    Figure("computed-interval", ">= 0.98", "x", _computed),
)
