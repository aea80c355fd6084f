"""Steps per second of `tensorplane.fit` with Keras 3, compared with tf_keras' own `fit`, on two workers."""

from __future__ import annotations

from functools import partial

from bench import rate
from bench.figure import Figure, Measured
from bench.local_workers import lines_of_first
from tensorplane.core.errors import UserError

_PAIRS = 5
_MODELS = ("convolutional", "dense")


def _measure() -> Measured:
    """The model for which the library does worse counts."""
    pairs = rate.in_pairs(_PAIRS, partial(_rates, "library"), partial(_rates, "legacy"))
    ratios = {model: rate.paired([(ours[model], theirs[model]) for ours, theirs in pairs]) for model in _MODELS}
    texts = (
        f"{model}: tf_keras {ratio.second:.1f} steps/s, the library {ratio.first:.1f}, "
        f"ratio {ratio.median:.3f} ({ratio.interval})"
        for model, ratio in ratios.items()
    )
    return Measured(min(ratio.median for ratio in ratios.values()), "; ".join(texts))


def _rates(way: str) -> dict[str, float]:
    """Steps per second by model."""
    lines = lines_of_first("fit_speed_program.py", (way, *_MODELS), {"worker": 2}, own_cores=True)
    words = [line.split() for _, line in lines if line.startswith("rate ")]
    found = {model: float(value) for _, model, value in words}
    if set(found) != set(_MODELS):
        raise UserError(f"fit-to-legacy: {way} printed rates of {sorted(found)}; its errors are above")
    return found


FIGURES = (Figure("fit-to-legacy", ">= 1.0", "x", _measure),)
