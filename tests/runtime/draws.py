"""Draws fits and interruptions of fits by a seed."""

from __future__ import annotations

import random
from collections.abc import Iterator

from tests.runtime import drawn_fits, drawn_models, drawn_resumes

_NO_MEAN = ("dice", "number summed", "of known labels")
_NO_SUM = ("ratio", "peak")
_OWN_LOSS, _OWN_STEP = ("own mean", "own sum", "gan"), ("guide", "counting")
_OF_ONE_REPLICA = (*_NO_MEAN, "balanced")
_NOT_OF_A_GAN = ("early", "looks", "perturbs", "swap to validate", "swap each epoch")
_CHANGE_WEIGHTS = ("perturbs", "swap to validate")
_AVERAGING = ("averages", "ema", "ema and accumulation")
_WITH_A_RATE = [one for one in drawn_fits.OPTIMIZERS if one != "loss scale of several"]
_CALLS = {
    **dict.fromkeys(("on_train_batch_begin", "on_train_batch_end"), 12),
    **dict.fromkeys(("on_epoch_begin", "on_epoch_end", "on_test_begin", "on_test_batch_end", "on_test_end"), 3),
    "on_train_end": 1,
}
"""How often each method is called in a fit, at least."""


def _losses(family: str) -> list[str]:
    """Keras cannot add the number that a penalty is to losses of each sample."""
    return [one for one in drawn_fits.LOSSES if one != "none" or family not in ("penalty", "penalty summed")]


def fits(seed: int) -> Iterator[drawn_fits.Case]:
    """Cases without end. Plain losses come more often, so that the other choices meet each other."""
    choose = random.Random(seed).choice
    while True:
        run = choose(["graph", "graph", *drawn_fits.RUNS])
        data = choose([one for one in drawn_fits.DATA if run != "graph" or one != "of unknown length"])
        family = choose(list(drawn_models.FAMILIES))
        # Some have metrics of their own, and Keras cannot mask others.
        metrics = ("mean",) if family in (*_OWN_LOSS, "counting", "masked outputs") else tuple(drawn_fits.METRICS)
        # A train_step of one's own is compared by its gradients alone, which may be equal for the first samples.
        of_steps = [
            one for one in _losses(family) if family not in _OWN_STEP or one not in ("balanced", "of known labels")
        ]
        yield {
            "family": family,
            "loss": choose(["mse", "mse", "number", *of_steps]),
            "optimizer": choose(list(drawn_fits.OPTIMIZERS)),
            "metric": choose(metrics),
            # At the end of data whose length it does not know, Keras counts one step more in graphs of one step.
            "data": data,
            "run": run,
        }


def resumes(seed: int) -> Iterator[drawn_resumes.Case]:
    """Cases without end. What replicas refuse, or keep apart on each of them, is drawn for one process alone."""
    draw = random.Random(seed)
    while True:
        replicas = draw.choice([1, 2])
        family = draw.choice([*drawn_resumes.FAMILIES, "dropout", "dropout", "own step"])
        if replicas > 1 and family in ("penalty summed", "seen"):
            family = "dropout"
        gan = family == "gan"
        data = draw.choice([one for one in drawn_resumes.DATA if not gan or one != "arrays"])
        # Two fits over one endless shuffle are no promise; it is said. A model whose first part is frozen is no GAN.
        fits = 1 if gan or data == "steps of an endless one" else draw.choice([1, 2])
        called = draw.choice([one for one in drawn_resumes.CALLBACKS if not gan or one not in _NOT_OF_A_GAN])
        points = [one for one in drawn_resumes.POINTS if not gan or not one.startswith("on_test")]
        # What these change for a validation shows only where one is interrupted.
        point = draw.choice([*points, *(6 * ["on_test_batch_end"] if called in _CHANGE_WEIGHTS else [])])
        yield {
            "family": family,
            "loss": draw.choice(["mse", "number", *(one for one in _losses(family) if one not in _OF_ONE_REPLICA)]),
            "optimizer": draw.choice(_AVERAGING if "swap" in called else _WITH_A_RATE),
            "metric": draw.choice(["mean", "sums"]) if family != "masked outputs" else "mean",
            "callbacks": called,
            "data": data,
            "run": draw.choice(["graph", "graph", *drawn_fits.RUNS]),
            "fits": fits,
            "replicas": replicas,
            "how": draw.choice(["kill", "stop"]),
            "point": point,
            "call": draw.randint(1, _CALLS[point] * fits),
        }


def expected(case: drawn_fits.Case) -> str:
    """What several replicas do with a case: `equal` to one process, `refused`, or trained as they can, and `told`.

    `told of metrics` is equal but for these.
    """
    if case["family"] == "own sum" or (case["family"] in _OWN_STEP and case["loss"] in _NO_MEAN):
        return "told"
    if case["family"] == "penalty summed" or (case["loss"] in _NO_MEAN and case["family"] not in _OWN_LOSS):
        return "refused"
    if case["family"] == "seen" or (case["loss"] == "balanced" and case["family"] not in _OWN_LOSS):
        return "told"
    if case["metric"] in _NO_SUM:
        return "told of metrics"
    return "equal"
