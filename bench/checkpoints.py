"""What checkpoints cost a training, and how near the computed interval is to the best one."""

from __future__ import annotations

import json
import random
import statistics
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from bench import local_workers
from bench.figure import Figure, Measured
from tensorplane.core.scratch import scratch

_LOST_STEPS = 10
_OVERHEAD_ROUNDS = 12
_SWEPT = (1, 2, 3, 5, 8, 13, 20, 40)
_SWEEP_ROUNDS = 5
_MINUTES = 0.5
_RESTART_SECONDS = 10.0
_INTERRUPTIONS = 20_000


@dataclass(frozen=True)
class _Trained:
    """One process of `checkpoint_program.py`."""

    computed: int
    """The interval that the library computed, in steps; 0 if it was not asked."""
    rounds: dict[int, list[float]]
    """Seconds per step in each round, with what saves cost, by interval in steps; 0 is without saves."""

    def added(self, interval: int) -> float:
        """The share that saves add to a step: the median of its rounds, each against the same round without saves."""
        return statistics.median(
            saving / without - 1 for saving, without in zip(self.rounds[interval], self.rounds[0], strict=True)
        )

    @property
    def step_seconds(self) -> float:
        """Without saves."""
        return statistics.median(self.rounds[0])


def _train(rounds: int, minutes: float, *intervals: int) -> _Trained:
    program = Path(__file__).with_name("checkpoint_program.py")
    with scratch("bench") as folder:
        argv = [sys.executable, str(program), str(folder), str(rounds), str(minutes), "0", *map(str, intervals)]
        done = subprocess.run(argv, env=local_workers.environment(), check=True, stdout=subprocess.PIPE, text=True)
    result = json.loads(done.stdout.splitlines()[-1])
    return _Trained(result["computed"], {int(steps): found for steps, found in result["step_seconds"].items()})


def _overhead() -> Measured:
    trained = _train(_OVERHEAD_ROUNDS, 0, _LOST_STEPS)
    added = trained.added(_LOST_STEPS)
    return Measured(
        100 * added,
        f"without checkpoints {1000 * trained.step_seconds:.0f} ms a step; 48 MB every {_LOST_STEPS} steps, "
        f"{1000 * added * trained.step_seconds * _LOST_STEPS:.0f} ms each; median of {_OVERHEAD_ROUNDS} rounds",
    )


def _computed() -> Measured:
    """Measured times of each interval, and the same drawn interruptions for all."""
    trained = _train(_SWEEP_ROUNDS, _MINUTES, *_SWEPT)
    rates = {
        steps: _goodput(steps, trained.step_seconds * (1 + trained.added(steps))) for steps in trained.rounds if steps
    }
    best = max(rates, key=lambda steps: rates[steps])
    swept = " ".join(f"{steps}:{rate / rates[best]:.3f}" for steps, rate in sorted(rates.items()))
    return Measured(
        rates[trained.computed] / rates[best],
        f"every {trained.computed} steps computed, best swept {best} ({swept}); "
        f"one interruption in {60 * _MINUTES:.0f} s",
    )


def _goodput(interval: int, step_seconds: float) -> float:
    """Steps that stay, per second: interruptions lose what came after the last save, and the time of a restart."""
    chance = random.Random(1)  # noqa: S311  # no secret
    saved = spent = 0.0
    for _ in range(_INTERRUPTIONS):
        runs = chance.expovariate(1 / (60 * _MINUTES))
        saved += runs // (interval * step_seconds) * interval
        spent += runs + _RESTART_SECONDS
    return saved / spent


FIGURES = (
    Figure("checkpoint-overhead", "<= 3.5", "%", _overhead),
    Figure("computed-interval", ">= 0.98", "x", _computed),
)
