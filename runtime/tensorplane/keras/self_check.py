"""Compares one step on all replicas with the same step in one process."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

import keras
import numpy as np
import tensorflow as tf

from tensorplane.errors import TensorplaneError, UsageError
from tensorplane.keras import building, repair, seed_generators, steps
from tensorplane.keras.batches import Batches
from tensorplane.keras.comparison import compared, constant_draws, undone_writes
from tensorplane.keras.exact_gradients import applying
from tensorplane.keras.exact_metrics import measured_apart
from tensorplane.keras.optimizers import optimizers_of
from tensorplane.keras.replicas import several

_RANDOM = ("rate", "dropout", "recurrent_dropout", "stddev")
"""Attributes of layers that add noise, which differs between replicas and one process."""
_TOLERANCE = {"float64": 1e-9, "float32": 1e-3, "float16": 5e-2, "bfloat16": 5e-2}
_FACTORS = (0.6875, 1.3125)
"""Factors of the loss, exact in every type. Divided out of the gradient, they show how it rounds."""
_LAST_DIGITS = 8
"""How many units in the last place the weights change with each factor: that shows how activations round.

On GPUs, parts of a batch round otherwise than the whole, and a ReLU near 0 then passes one sample more or less.
"""
_ROUNDINGS = 10.0
"""How many times this rounding two orders of summation may differ."""
_PROBES = 10
"""How often the rounding is measured if it explains a difference of gradients only then.

One probe sees a single ReLU near 0 in about half of the cases.
"""


_VARIABLES = (tf.Variable, keras.Variable)


class Differs(TensorplaneError, RuntimeError):
    """Training on several replicas computes other gradients than one process."""


def verify(model: Any, batch: Any) -> float:
    """Checks that a step on all replicas computes the gradients of the same step in one process.

    `model` is compiled and was created in the strategy's scope; `batch` is a global batch, as the dataset gives it, and
    the same on all workers, which must all call this. Weights, optimizer and seeds are left as they were; dropout and
    noise are off in the compared steps.

    Returns the largest difference, relative to the largest gradient of the same variable, or to a hundredth of the
    model's if that is more. Raises Differs with one line if it is more than rounding explains: 1e-9 in float64, 1e-3 in
    float32, 0.05 in mixed precision. For variables whose gradients round by more, which is measured, the difference is
    relative to what would make this rounding the limit.
    """
    batch = tf.nest.map_structure(tf.convert_to_tensor, batch)
    building.build_from(model, batch)
    if not several(model.distribute_strategy):
        return 0.0
    repair.install()
    step = compare(model, batch)
    if differs(model, step.worst):
        raise Differs(difference_line(model, step.worst, step.where))
    return step.worst


def difference_line(model: Any, worst: float, where: str) -> str:
    """The line for a difference."""
    return (
        f"model: the gradient of {where} on several replicas differs by {worst:.2g} from one process; {_remedy(model)}"
    )


def copied_bytes(model: Any) -> int:
    """How much of the host's memory `compare` needs at most: all weights once, and of what is trained five copies.

    These are the values before and after both steps, and the gradients of both.
    """
    counted = [*model.weights, *5 * model.trainable_variables]
    return sum(math.prod(one.shape) * tf.as_dtype(one.dtype).size for one in counted)


@dataclass(frozen=True)
class Outcome:
    """What else a step does than update trainable variables."""

    logs: Any
    state: Mapping[str, np.ndarray]
    """The variables after it, by path. What optimizers do is not in them."""

    @classmethod
    def of(cls, model: Any, logs: Any) -> Outcome:
        """Of a step that has just been computed."""
        return cls(logs, _state(model))


def _state(model: Any) -> dict[str, np.ndarray]:
    """The values of the variables that a step may change, by path."""
    # Not those of frozen layers, which are many.
    own = [one for layer in model._flatten_layers() for one in layer._non_trainable_variables]
    variables = [*model.trainable_variables, *own]
    return {one.path: tf.convert_to_tensor(one.value).numpy() for one in variables}


@dataclass(frozen=True)
class StepComparison:
    """A step on all replicas beside the same step in one process."""

    worst: float
    """The largest difference of a gradient, as `verify` measures it."""
    where: str
    """The path of its variable."""
    outcome: Outcome
    """What the step on all replicas leaves and returns."""
    of_one: Outcome
    """The same in one process."""
    before: Mapping[str, np.ndarray]
    """The variables before it, by path."""
    validation: tuple[Any, Any] | None = None
    """What a step of validation returns on all replicas, and in one process; None if it was not compared."""


def compare(model: Any, batch: Any, *, validates: bool = False) -> StepComparison:
    """Computes one training step on all replicas and in one process, and with `validates` one of validation."""
    with untouched(model):
        before = _state(model)
        mine, outcome = _on_replicas(model, batch)
    validation = _validation(model, batch) if validates else None
    with untouched(model):
        reference, logs = in_one_process(_of_one_process, model, batch)
        of_one = Outcome.of(model, logs)
        worst, where = _largest(model, mine, reference, {})
        if differs(model, worst):
            for rounding in _roundings(model, batch, reference):
                worst, where = _largest(model, mine, reference, rounding)
                if not differs(model, worst):
                    break
    return StepComparison(worst, where, outcome, of_one, before, validation)


def _validation(model: Any, batch: Any) -> tuple[Any, Any] | None:
    """The logs of a step of validation on all replicas, and in one process; None if it takes other data."""
    with suppress(Exception), untouched(model):
        several = steps.function(model, model.test_step, training=False)(_iterator(model, batch))
        model.reset_metrics()
        with measured_apart(model):
            return several, in_one_process(model.test_step, batch)
    return None


def _iterator(model: Any, batch: Any) -> Any:
    """Gives the batch as an epoch does."""
    batches = Batches(tf.data.Dataset.from_tensors(batch), model.distribute_strategy)
    iterator = iter(batches)
    # As the iterator of an epoch counts: before the execution.
    batches.taken += model.steps_per_execution
    return iterator


@contextmanager
def untouched(model: Any) -> Iterator[None]:
    """In this block, the model computes eagerly, precisely and without randomness; after it, it is as before."""
    with ExitStack() as undo:
        computing = _full_precision(), _eagerly(), constant_draws(), _without_noise(model)
        for context in (*computing, _restored(model), undone_writes()):
            undo.enter_context(context)
        yield


def differs(model: Any, worst: float) -> bool:
    """Whether a difference is more than rounding explains."""
    return worst > tolerance(model)


class _Recorder(keras.optimizers.Optimizer):  # type: ignore[misc]  # Keras has no types
    """Keeps the gradients that Keras would update variables with, in the place of an optimizer."""

    def __init__(self, variables: Sequence[Any], found: dict[str, np.ndarray]) -> None:
        super().__init__(learning_rate=1.0)
        self.build(variables)
        paths = {self._var_key(variable): variable.path for variable in variables}

        def note(gradient: Any, variable: Any) -> None:
            # Called for each replica of this process, with the same gradient.
            found.setdefault(paths[self._var_key(variable)], tf.convert_to_tensor(gradient).numpy())

        # A function: Keras would keep a copy of the dict.
        self._note = note

    def update_step(self, gradient: Any, variable: Any, learning_rate: Any) -> None:
        self._note(gradient, variable)


@contextmanager
def _recorded(model: Any) -> Iterator[dict[str, np.ndarray]]:
    """In this block, the model's optimizers change nothing: the gradients that reach them are kept by path."""
    found: dict[str, np.ndarray] = {}
    optimizers = [one for one in optimizers_of(model) if one.built]
    for optimizer in optimizers:
        optimizer.apply = _Recorder(optimizer._trainable_variables, found).apply
    try:
        with applying(_only_recorders):
            yield found
    finally:
        for optimizer in optimizers:
            del optimizer.apply


def _only_recorders(optimizer: Any, *_: Any) -> Any:
    if isinstance(optimizer, _Recorder):
        return NotImplemented
    raise UsageError(f"{optimizer.name} is not an attribute of the model or its layers")


def _on_replicas(model: Any, batch: Any) -> tuple[dict[str, np.ndarray], Outcome]:
    """The gradients that a step on all replicas applies, by the variable's path, and what else it does."""
    iterator = _iterator(model, batch)
    with ExitStack() as undo:
        with model.distribute_strategy.scope():
            found = undo.enter_context(_recorded(model))
        logs = steps.function(model, model.train_step, training=True)(iterator)
    return found, Outcome.of(model, logs)


def in_one_process(function: Callable[..., Any], *arguments: Any) -> Any:
    """What a function returns where the caller's strategy is not in effect: a thread begins without."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(compared, function, *arguments).result()


def _of_one_process(model: Any, batch: Any, factor: float = 1.0) -> tuple[dict[str, np.ndarray], Any]:
    """The gradients of the whole batch, without the strategy, computed from `factor` times the loss; and the logs."""
    with _recorded(model) as found, measured_apart(model), _multiplied(factor):
        logs = model.train_step(batch)
    return {path: gradient / factor for path, gradient in found.items()}, logs


@contextmanager
def _multiplied(factor: float) -> Iterator[None]:
    """In this block, tapes compute the gradients of `factor` times their target."""
    original = tf.GradientTape.gradient

    def gradient(self: Any, target: Any, sources: Any, output_gradients: Any = None, **how: Any) -> Any:
        if output_gradients is None and isinstance(target, tf.Tensor):
            output_gradients = tf.fill(tf.shape(target), tf.cast(factor, target.dtype))
        return original(self, target, sources, output_gradients, **how)

    with patch.object(tf.GradientTape, "gradient", gradient):
        yield


def _roundings(model: Any, batch: Any, reference: Mapping[str, np.ndarray]) -> Iterator[dict[str, float]]:
    """By how much the gradient of each variable changes if all numbers round otherwise, after ever more probes.

    Changes the weights.
    """
    found = dict.fromkeys(reference, 0.0)
    weights = [weight.numpy() for weight in model.trainable_weights]
    random = np.random.default_rng(0)
    for probe in range(_PROBES):
        for weight, value in zip(model.trainable_weights, weights, strict=True):
            last = _LAST_DIGITS * np.finfo(value.dtype).eps
            weight.assign(value * (1 + last * random.choice([-1, 1], value.shape)).astype(value.dtype))
        other, _ = in_one_process(_of_one_process, model, batch, _FACTORS[probe % len(_FACTORS)])
        found = {path: max(most, _apart(other[path], reference[path])) for path, most in found.items()}
        if probe + 1 >= len(_FACTORS):
            yield found


def _apart(one: np.ndarray, other: np.ndarray) -> float:
    return float(np.max(np.abs(one - other), initial=0.0))


def tolerance(model: Any) -> float:
    """What rounding explains of a difference, relative to the value."""
    return max(_TOLERANCE.get(layer.compute_dtype, 1e-3) for layer in model._flatten_layers())


def _largest(
    model: Any, mine: Mapping[str, np.ndarray], reference: Mapping[str, np.ndarray], rounding: Mapping[str, float]
) -> tuple[float, str]:
    """The largest difference, and the path of its variable."""
    most = tolerance(model)
    worst, where = 0.0, ""
    # A gradient that should be 0 is rounding.
    least = 0.01 * max((float(np.max(np.abs(one), initial=0.0)) for one in reference.values()), default=0.0) or 1.0
    for path, other in reference.items():
        scale = max(least, float(np.max(np.abs(other), initial=0.0)), _ROUNDINGS * rounding.get(path, 0.0) / most)
        difference = _apart(mine[path], other) / scale if path in mine else np.inf
        if not difference <= worst:
            worst, where = difference, path
    return worst, where


def _remedy(model: Any) -> str:
    alone = [layer.name for layer in model._flatten_layers() if steps.measures_alone(layer)]
    if alone:
        return f"set synchronized=True on {', '.join(alone)}, which normalizes each replica's part of the batch alone"
    if type(model).train_step is keras.Model.train_step:
        return "what compares the samples of a batch sees only those of one replica; train on one replica"
    return (
        "let the loss of a custom train_step be the mean over its samples, as self.compute_loss returns it; "
        "if the step compares samples or computes with gradients, train on one replica"
    )


@contextmanager
def _full_precision() -> Iterator[None]:
    """Without TensorFloat-32, in which the products of a batch's part differ from the whole's in the fourth digit."""
    before = tf.config.experimental.tensor_float_32_execution_enabled()
    tf.config.experimental.enable_tensor_float_32_execution(False)
    try:
        yield
    finally:
        tf.config.experimental.enable_tensor_float_32_execution(before)


@contextmanager
def _eagerly() -> Iterator[None]:
    """Without graphs: what is traced here would keep the constants and the layers' changed rates."""
    before = tf.config.functions_run_eagerly()
    logger, level = tf.get_logger(), tf.get_logger().level
    tf.config.run_functions_eagerly(True)
    # TensorFlow warns that replicas are slow without graphs.
    logger.setLevel("ERROR")
    try:
        yield
    finally:
        tf.config.run_functions_eagerly(before)
        logger.setLevel(level)


@contextmanager
def _without_noise(model: Any) -> Iterator[None]:
    # A layer with a cell has the cell's as properties; the cell is one of the layers, too.
    changed = [
        (layer, name, getattr(layer, name))
        for layer in model._flatten_layers()
        for name in _RANDOM
        if isinstance(getattr(layer, name, None), float) and not isinstance(getattr(type(layer), name, None), property)
    ]
    for layer, name, _ in changed:
        setattr(layer, name, 0.0)
    try:
        yield
    finally:
        for layer, name, value in changed:
            setattr(layer, name, value)


@contextmanager
def _restored(model: Any) -> Iterator[None]:
    """Weights and seeds as before; metrics as at the begin of an epoch, before and after."""
    own = [
        value for layer in model._flatten_layers() for value in vars(layer).values() if isinstance(value, tf.Variable)
    ]
    # None until one is computed, which a train_step of one's own may do otherwise.
    losses = (model._compile_loss and model._compile_loss._flat_losses) or []
    own += [value for one in losses for value in vars(one.loss).values() if isinstance(value, _VARIABLES)]
    variables = [*model.weights, *own, *seed_generators.states_of(model)]
    model.reset_metrics()
    # Some metrics count on.
    results = model.distribute_strategy.experimental_local_results
    variables += [mine for one in model.metrics for counted in one.variables for mine in results(counted.value)]
    before = [variable.numpy() for variable in variables]
    try:
        yield
    finally:
        model.reset_metrics()
        for variable, value in zip(variables, before, strict=True):
            variable.assign(value)
