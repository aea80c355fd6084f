"""Trains the models that a test draws, and prints what training and the trained model say.

Run as a program: `drawn_fits.py plain|single|replicas|workers CASE…`, each a JSON object (`Case`). `plain` is the
reference: one process with Keras alone, which imports nothing of tensorplane; `single` is one process, too; `replicas`
has two replicas in one process; `workers` is one of two workers. Each case prints a line of JSON after the word `case`.
"""

from __future__ import annotations

import functools
import io
import json
import os
import sys
from collections.abc import Callable
from contextlib import redirect_stderr
from pathlib import Path
from typing import Any, TypedDict

import keras
import numpy as np
import tensorflow as tf

# A program has the library on its path, not the tests.
sys.path.append(str(Path(__file__).parents[2]))

from tests.runtime.drawn_models import FAMILIES, SIZE, Peak, labelled  # on that path

SAMPLES, BATCH, EPOCHS = 37, 8, 3


class Case(TypedDict):
    """A point of the grammar; the names are those of the tables below."""

    family: str
    loss: str
    optimizer: str
    metric: str
    data: str
    run: str


class ScalarLoss(keras.losses.Loss):  # type: ignore[misc]  # Keras has no types
    """A loss whose `call` returns one number, as TensorFlow's guide writes it."""

    def call(self, y_true: Any, y_pred: Any) -> Any:
        return tf.reduce_mean(tf.math.square(y_pred - y_true))


def _balanced(y: Any, p: Any) -> Any:
    """A value for each sample, which depends on how many large labels the batch has."""
    large = tf.cast(y > 0.5, y.dtype)
    return tf.reduce_mean(tf.square(y - p) * (1 + large / (0.1 + tf.reduce_mean(large))), axis=-1)


def _of_known_labels(y: Any, p: Any) -> Any:
    """One number, of the labels that are not missing."""
    known = tf.logical_not(tf.math.is_nan(y))
    errors = tf.where(known, tf.square(tf.where(known, y, tf.zeros_like(y)) - p), tf.zeros_like(p))
    return tf.reduce_sum(errors) / tf.reduce_sum(tf.cast(known, p.dtype))


LOSSES: dict[str, Callable[[], Any]] = {
    "mse": lambda: "mse",
    "huber, weighted mean": lambda: keras.losses.Huber(reduction="mean_with_sample_weight"),
    "sum": lambda: keras.losses.MeanSquaredError(reduction="sum"),
    "none": lambda: keras.losses.MeanSquaredError(reduction="none"),
    "number": lambda: lambda y, p: tf.reduce_mean(tf.square(y - p)),
    "number of a class": ScalarLoss,
    "dice by sample": lambda: keras.losses.Dice(axis=(1,)),
    "dice": keras.losses.Dice,
    "balanced": lambda: _balanced,
    "of known labels": lambda: _of_known_labels,
    "number summed": lambda: lambda y, p: tf.reduce_sum(tf.square(y - p)),
}

sgd = keras.optimizers.SGD


class Normalizing(keras.optimizers.SGD):  # type: ignore[misc]  # Keras has no types
    """An `apply` of its own, which sees the gradients of the whole batch."""

    def apply(self, grads: Any, trainable_variables: Any = None) -> Any:
        norm = tf.linalg.global_norm([grad for grad in grads if grad is not None])
        scaled = [grad if grad is None else tf.convert_to_tensor(grad) / (1 + norm) for grad in grads]
        return super().apply(scaled, trainable_variables)


OPTIMIZERS: dict[str, Callable[[], Any]] = {
    "sgd": lambda: sgd(0.05, momentum=0.9),
    "adam": lambda: keras.optimizers.Adam(0.01),
    "adamw": lambda: keras.optimizers.AdamW(0.01, weight_decay=0.1),
    "own apply": lambda: Normalizing(0.05),
    "clipnorm": lambda: sgd(0.1, clipnorm=0.05),
    "global_clipnorm": lambda: sgd(0.1, global_clipnorm=0.05),
    "clipvalue": lambda: sgd(0.1, clipvalue=0.01),
    "accumulation": lambda: keras.optimizers.Adam(0.01, gradient_accumulation_steps=3),
    "clipped accumulation": lambda: sgd(0.1, gradient_accumulation_steps=2, clipnorm=0.05),
    "ema": lambda: sgd(0.05, use_ema=True, ema_momentum=0.8, ema_overwrite_frequency=3),
    "ema and accumulation": lambda: sgd(
        0.05, use_ema=True, ema_momentum=0.8, ema_overwrite_frequency=2, gradient_accumulation_steps=2
    ),
    "averages": lambda: keras.optimizers.Adam(0.05, use_ema=True, ema_momentum=0.7),
    "loss scale": lambda: keras.optimizers.LossScaleOptimizer(sgd(0.05), initial_scale=8.0, dynamic_growth_steps=3),
    "loss scale of several": lambda: keras.optimizers.LossScaleOptimizer(
        keras.optimizers.MultiOptimizer(keras.optimizers.OptimizerMap(sgd(0.05))), initial_scale=8.0
    ),
    "loss scale, accumulation": lambda: keras.optimizers.LossScaleOptimizer(
        sgd(0.05, gradient_accumulation_steps=2), initial_scale=8.0, dynamic_growth_steps=3
    ),
}


def _mean_of_batch(y: Any, p: Any) -> Any:
    return tf.reduce_mean(tf.abs(y - p))


def _ratio_of_sums(y: Any, p: Any) -> Any:
    return tf.reduce_sum(tf.abs(y - p)) / tf.reduce_sum(tf.abs(y))


METRICS: dict[str, Callable[[], list[Any]]] = {
    "mean": lambda: ["mae"],
    "number": lambda: ["mae", _mean_of_batch],
    "sums": lambda: [
        keras.metrics.RootMeanSquaredError(),
        keras.metrics.R2Score(),
        keras.metrics.CosineSimilarity(),
        keras.metrics.BinaryAccuracy(threshold=0.3),
    ],
    "ratio": lambda: [_ratio_of_sums],
    "peak": lambda: [Peak()],
}

RUNS: dict[str, dict[str, Any]] = {
    "graph": {},
    "eager": {"run_eagerly": True},
    "several steps": {"steps_per_execution": 3},
}

DATA = ("even", "uneven", "one left", "weights", "shuffled", "padded", "of unknown length")


def data_of(case: Case) -> tf.data.Dataset:
    """Batches of BATCH samples, of which the last may have fewer."""
    random = np.random.default_rng(1)
    count = {"even": SAMPLES // BATCH * BATCH, "one left": SAMPLES // BATCH * BATCH + 1}.get(case["data"], SAMPLES)
    x, y = random.normal(size=(count, SIZE)), np.abs(random.normal(size=(count, 3)))
    parts: tuple[Any, ...] = (x, labelled(case["family"], y))
    if case["data"] == "weights":
        shape = (count, SIZE) if case["family"] == "masked outputs" else (count,)
        parts = (*parts, random.uniform(0.2, 2.0, shape))
    data = tf.data.Dataset.from_tensor_slices(parts)
    if case["data"] == "padded":
        # The sizes are unknown until a batch is read.
        return data.shuffle(count, seed=5).padded_batch(BATCH, tf.nest.map_structure(_unknown, data.element_spec))
    if case["data"] == "of unknown length":
        data = data.filter(lambda *_: True)
    if case["data"] == "shuffled":
        data = data.shuffle(count, seed=5)
    return data.batch(BATCH)


def _unknown(spec: tf.TensorSpec) -> list[None]:
    return [None] * spec.shape.rank


def compiled(case: Case) -> Any:
    """The model of a case, with weights that depend on nothing else."""
    keras.utils.set_random_seed(3)
    model = FAMILIES[case["family"]]()
    compile_as(case, model)
    if case["family"] == "gan":
        _ = [part.set_weights(_weights(part)) for part in (model.critic, model.maker)]
        return model
    model(np.zeros((1, SIZE)))
    model.set_weights(_weights(model))
    return model


def compile_as(case: Case, model: Any) -> None:
    """Compile a model with what a case says."""
    make, how = OPTIMIZERS[case["optimizer"]], RUNS[case["run"]]
    if case["family"] == "gan":
        model.compile([make(), make()], **how)
        return
    own = case["family"] in ("own mean", "own sum", "counting")
    reports: dict[str, Any] = {} if own else {"metrics": _metrics(case)}
    model.compile(make(), LOSSES[case["loss"]](), **reports, **how)


def _metrics(case: Case) -> Any:
    found = METRICS[case["metric"]]()
    return {"a": found, "b": ["mae"]} if case["family"] == "two outputs" else found


def _weights(model: Any) -> list[np.ndarray]:
    random = np.random.default_rng(2)
    return [(weight + random.normal(size=weight.shape) * 0.3).astype(weight.dtype) for weight in _positive(model)]


def _positive(model: Any) -> list[np.ndarray]:
    """The initial weights without their random part; a variance stays positive."""
    return [
        np.abs(np.zeros_like(weight)) + 2 * (variable.name == "moving_variance")
        for weight, variable in zip(model.get_weights(), model.weights, strict=True)
    ]


def trained(case: Case, fit: Callable[..., Any]) -> dict[str, Any]:
    """What is the same on one process and several: weights, history, evaluation and predictions."""
    model = compiled(case)
    data = data_of(case)
    gan = case["family"] == "gan"
    validation = {} if gan else {"validation_data": data_of({**case, "data": "uneven"})}
    history = fit(model, data, epochs=EPOCHS, verbose=0, **validation)
    found: dict[str, Any] = {"history": history.history, "weights": [one.tolist() for one in model.get_weights()]}
    if not gan:
        x = np.random.default_rng(4).normal(size=(5, SIZE))
        found["evaluated"] = {k: float(v) for k, v in model.evaluate(data, verbose=0, return_dict=True).items()}
        found["predicted"] = _as_lists(model.predict(x, batch_size=4, verbose=0))
        found["on a batch"] = _as_lists(model.predict_on_batch(x))
    return found


def _as_lists(outputs: Any) -> Any:
    return tf.nest.map_structure(lambda one: np.asarray(one).tolist(), outputs)


def _run(mode: str, case: Case) -> dict[str, Any]:
    keras.config.set_floatx("float64")
    if mode == "plain":
        return trained(case, lambda model, data, **keywords: model.fit(data, **keywords))
    import tensorplane

    with _strategy(mode).scope():
        return trained(case, tensorplane.fit)


@functools.cache
def _strategy(mode: str) -> tf.distribute.Strategy:
    if mode == "single":
        return tf.distribute.get_strategy()
    if mode == "replicas":
        from tests.runtime import two_replicas

        return two_replicas.strategy()
    import tensorplane

    return tensorplane.strategy()


def main() -> None:
    mode, *cases = sys.argv[1:]
    if (mend := os.environ.get("WITHOUT")) and mode != "plain":
        from tests.runtime.mends import take_out

        take_out(mend)
    tf.config.threading.set_intra_op_parallelism_threads(1)
    if mode != "plain":
        _strategy(mode)
    for text in cases:
        case: Case = json.loads(text)
        said = io.StringIO()
        with redirect_stderr(said):
            try:
                found = _run(mode, case)
            except (ValueError, TypeError, tf.errors.InvalidArgumentError) as error:
                found = {"refused": str(error)}
        found["said"] = [line for line in said.getvalue().splitlines() if line.startswith("tensorplane: ")]
        print("case", json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
