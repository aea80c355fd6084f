"""Repairs Keras 3's `fit`, `evaluate` and `predict` on several replicas, where the installed Keras has the faults.

As released, Keras 3 cannot `fit` on several workers: it builds the model from values of other workers, and reduces
scalars along an axis that they do not have. On several replicas of one process it runs, but uneven last batches, masked
losses, clipped gradients and BatchNormalization differ from one process. What each repair does is in `exact_gradients`,
`steps` and `epochs`; this module finds out whether it is needed, and installs it.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from importlib import import_module
from typing import Any

from tensorplane.errors import TensorplaneError, UsageError
from tensorplane.keras import (
    added_losses,
    building,
    callback_files,
    captured,
    epochs,
    exact_gradients,
    exact_metrics,
    periodic_updates,
    scalars,
    seed_generators,
    steps,
)
from tensorplane.keras.replicas import Replicas, several

Function = Callable[..., Any]

_TRAINER = "keras.src.backend.tensorflow.trainer"
_LOSS = "keras.src.losses.loss"
_OPTIMIZER = "keras.src.optimizers.base_optimizer"
_TF_OPTIMIZER = "keras.src.backend.tensorflow.optimizer"
_LOSS_SCALE = "keras.src.optimizers.loss_scale_optimizer"
_NN = "keras.src.backend.tensorflow.nn"
_COMPILED = "keras.src.trainers.compile_utils"
_METRICS = "keras.src.metrics.reduction_metrics"
_LAYER = "keras.src.layers.layer"
_SEEDS = "keras.src.random.seed_generator"

_SIGNATURES = {
    f"{_TRAINER}:TensorFlowTrainer._maybe_symbolic_build": ("self", "iterator", "data_batch"),
    f"{_TRAINER}:TensorFlowTrainer._symbolic_build": ("self", "iterator", "data_batch"),
    f"{_TRAINER}:TensorFlowTrainer._make_function": ("self", "step_function"),
    f"{_TRAINER}:TensorFlowTrainer.make_predict_function": ("self", "force"),
    f"{_TRAINER}:TensorFlowTrainer._get_metrics_result_or_logs": ("self", "logs"),
    f"{_TRAINER}:TFEpochIterator.__init__": ("self", "distribute_strategy", "args", "kwargs"),
    f"{_TRAINER}:TFEpochIterator._get_iterator": ("self",),
    f"{_TRAINER}:TFEpochIterator._enumerate_iterator": ("self",),
    f"{_LOSS}:scale_loss_for_distribution": ("value",),
    f"{_LOSS}:unscale_loss_for_distribution": ("value",),
    f"{_LOSS}:apply_mask": ("sample_weight", "mask", "dtype", "reduction"),
    f"{_LOSS}:reduce_values": ("values", "sample_weight", "reduction"),
    f"{_LOSS}:reduce_weighted_values": ("values", "sample_weight", "mask", "reduction", "dtype"),
    f"{_COMPILED}:CompileLoss.call": ("self", "y_true", "y_pred", "sample_weight"),
    f"{_METRICS}:reduce_to_samplewise_values": ("values", "sample_weight", "reduce_fn", "dtype"),
    f"{_OPTIMIZER}:BaseOptimizer.apply": ("self", "grads", "trainable_variables"),
    f"{_OPTIMIZER}:BaseOptimizer._backend_apply_gradients": ("self", "grads", "trainable_variables"),
    f"{_LOSS_SCALE}:LossScaleOptimizer.apply": ("self", "grads", "trainable_variables"),
    f"{_TF_OPTIMIZER}:TFOptimizer._all_reduce_sum_gradients": ("self", "grads_and_vars"),
    f"{_NN}:_compute_moments_sync": ("x", "axes", "keepdims"),
    f"{_LAYER}:Layer._get_own_losses": ("self",),
    f"{_LAYER}:Layer._clear_losses": ("self",),
    f"{_SEEDS}:global_seed_generator": (),
}
"""What the repair replaces or calls, with its parameters. A Keras that has it otherwise has another shape."""


class UnknownKeras(TensorplaneError, RuntimeError):
    """The installed Keras has another shape than the repair knows."""


def install() -> None:
    """Repairs the installed Keras once; does nothing without several replicas. Raises UnknownKeras."""
    trainer = import_module(_TRAINER)
    if getattr(trainer, "_tensorplane", False):
        return
    if different := _different():
        import keras

        raise UnknownKeras(
            f"keras: {keras.__version__} has no {', '.join(different)} of the known form, so its fit cannot be "
            "repaired for several workers; install keras 3.15, or write the loop with tensorplane.Loop"
        )
    trainer._tensorplane = True  # type: ignore[attr-defined]
    _repair_trainer(trainer)
    scalars.allow()
    import_module(_LAYER).Layer._losses = added_losses.of_each_replica()
    for name, repair in {
        f"{_LOSS}:scale_loss_for_distribution": exact_gradients.scale_loss,
        f"{_LOSS}:unscale_loss_for_distribution": exact_gradients.scale_loss,
        f"{_LOSS}:apply_mask": exact_gradients.apply_mask,
        f"{_LOSS}:reduce_values": exact_gradients.reduce_values,
        f"{_LOSS}:reduce_weighted_values": exact_gradients.reduce_weighted_values,
        f"{_COMPILED}:CompileLoss.call": exact_gradients.compiled_loss,
        f"{_METRICS}:reduce_to_samplewise_values": exact_metrics.samplewise_values,
        f"{_OPTIMIZER}:BaseOptimizer.apply": exact_gradients.apply_gradients,
        f"{_OPTIMIZER}:BaseOptimizer._backend_apply_gradients": periodic_updates.update_if_due,
        f"{_LOSS_SCALE}:LossScaleOptimizer.apply": exact_gradients.apply_gradients,
        f"{_TF_OPTIMIZER}:TFOptimizer._all_reduce_sum_gradients": exact_gradients.all_reduce,
        f"{_NN}:_compute_moments_sync": exact_gradients.moments,
        f"{_SEEDS}:global_seed_generator": seed_generators.of_all_replicas,
        "tensorflow:nn.compute_average_loss": exact_gradients.average_loss,
        "tensorflow:nn.scale_regularization_loss": exact_gradients.regularization_loss,
    }.items():
        _replace(name, repair)


def _different() -> list[str]:
    return [name.partition(":")[2] for name, parameters in _SIGNATURES.items() if _parameters(name) != parameters]


def _parameters(name: str) -> tuple[str, ...] | None:
    try:
        owner, attribute = _owner(name)
        return tuple(inspect.signature(getattr(owner, attribute)).parameters)
    except (ImportError, AttributeError, TypeError, ValueError):
        return None


def _owner(name: str) -> tuple[Any, str]:
    module, _, path = name.partition(":")
    *owners, attribute = path.split(".")
    owner = import_module(module)
    for part in owners:
        owner = getattr(owner, part)
    return owner, attribute


def _replace(name: str, repair: Callable[[Function], Function]) -> None:
    owner, attribute = _owner(name)
    setattr(owner, attribute, repair(getattr(owner, attribute)))


def _repair_trainer(trainer: Any) -> None:
    kind = trainer.TensorFlowTrainer
    trainer.TFEpochIterator = epochs.over_batches(trainer.TFEpochIterator)
    kind._maybe_symbolic_build = _built(kind._maybe_symbolic_build)
    kind._make_function = _function(kind._make_function)
    kind.make_predict_function = _predict_function(kind.make_predict_function)
    callbacks = trainer.callbacks_module.CallbackList
    callbacks.set_model = _noted(callbacks.set_model)
    callbacks.on_epoch_begin = _begun(callbacks.on_epoch_begin)
    callbacks.on_test_begin = _after("before_validation", callbacks.on_test_begin)
    callbacks.on_train_end = _after("before_end", callbacks.on_train_end)
    kind._get_metrics_result_or_logs = _epoch_logs(kind._get_metrics_result_or_logs)


def _noted(original: Function) -> Function:
    """What resumes training knows the other callbacks, and those of Keras write files on the chief alone."""

    @functools.wraps(original)
    def set_model(self: Any, model: Any) -> None:
        if model and Replicas.of(model.distribute_strategy).first:
            callback_files.leave_to_the_chief(self.callbacks)
        # What saves the state of the others runs after them, also after Keras' History, which Keras adds at the end.
        self.callbacks.sort(key=lambda one: getattr(one, "saves_others", False))
        original(self, model)
        if model and (resume := _resume(self)) is not None:
            resume.belong_to(self.callbacks)

    return set_model


def _begun(original: Function) -> Function:
    """An epoch that was interrupted is not begun twice."""

    @functools.wraps(original)
    def on_epoch_begin(self: Any, epoch: int, logs: Any = None) -> None:
        resume = _resume(self)
        if resume is None:
            original(self, epoch, logs)
            return
        for callback in self.callbacks:
            if not resume.has_begun(callback):
                callback.on_epoch_begin(epoch, logs or {})

    return on_epoch_begin


def _after(before: str, original: Function) -> Function:
    """What resumes training does this before other callbacks begin a validation, or end the training."""

    @functools.wraps(original)
    def method(self: Any, logs: Any = None) -> None:
        if (resume := _resume(self)) is not None:
            getattr(resume, before)()
        original(self, logs)

    return method


def _resume(callbacks: Any) -> Any:
    return next((one for one in callbacks.callbacks if getattr(one, "saves_others", False)), None)


def _built(original: Function) -> Function:
    """The model is built from the types and shapes of a batch."""

    @functools.wraps(original)
    def build(self: Any, iterator: Any = None, data_batch: Any = None) -> None:
        if iterator is None or getattr(iterator, "batches", None) is None:
            original(self, iterator, data_batch)
            return
        epochs.newest[self] = iterator
        if not several(self.distribute_strategy):
            original(self, iterator, data_batch)
            return
        building.build(self, iterator)

    return build


def _function(original: Function) -> Function:
    """Train and test steps run as `steps` does it."""

    @functools.wraps(original)
    def make(self: Any, step_function: Any) -> Any:
        if training := step_function == self.train_step:
            captured.of(self).forget()
        if not several(self.distribute_strategy):
            return original(self, captured.noted(self, step_function) if training else step_function)
        _refuse_xla(self)
        seed_generators.shared(self.distribute_strategy)
        return steps.function(self, step_function, training=training)

    return make


def _refuse_xla(model: Any) -> None:
    if model.jit_compile:
        raise UsageError("jit_compile: XLA cannot compile the exchange between replicas; set jit_compile=False")


def _predict_function(original: Function) -> Function:
    """`predict` returns the outputs of all replicas in the order of the data."""

    @functools.wraps(original)
    def make(self: Any, force: bool = False) -> None:
        if not several(self.distribute_strategy):
            original(self, force)
        elif self.predict_function is None or force:
            seed_generators.shared(self.distribute_strategy)
            self.predict_function = steps.prediction(self)

    return make


def _epoch_logs(original: Function) -> Function:
    """An epoch that was resumed after its last step has no logs, but its metrics."""

    @functools.wraps(original)
    def logs_of(self: Any, logs: Any) -> Any:
        iterator = epochs.resumed.get(self)
        if not logs and iterator is not None and iterator.resumed:
            return original(self, iterator.last_logs) if iterator.last_logs else self.get_metrics_result()
        return original(self, logs)

    return logs_of
