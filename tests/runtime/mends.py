"""Takes single mends of `fit` out again, so that a test can tell whether it finds the fault that each is for."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import tensorflow as tf

from tensorplane import callbacks as tensorplane_callbacks
from tensorplane.keras import building as keras_building
from tensorplane.keras import exact_gradients, exact_metrics, fit_state, json_values, repair, steps
from tensorplane.keras import periodic_updates as keras_updates
from tensorplane.keras import repeatable as keras_repeatable
from tensorplane.keras.batches import Batch, Batches
from tensorplane.keras.replicas import in_step, share, summed

Mend = Callable[[], None]

# What is replaced has types, of which this knows nothing.
callbacks: Any = tensorplane_callbacks
building: Any = keras_building
updates: Any = keras_updates
gradients: Any = exact_gradients
metrics: Any = exact_metrics
repeatable: Any = keras_repeatable
state: Any = fit_state
running: Any = steps


def _as_it_is(original: Any) -> Any:
    return original


def _losses_scaled() -> None:
    """Losses are multiplied by a replica's share, which leaves out what is one number already."""

    def scaling(factor: Callable[[Any], Any]) -> Any:
        return lambda original: lambda value: value * factor(value.dtype) if in_step() else original(value)

    gradients._weighted = _as_it_is
    gradients.scale_loss = scaling(share)


def _sums_of_parts() -> None:
    gradients.compiled_loss = _as_it_is


def _positions_of_each_replica() -> None:
    gradients.is_row_independent = lambda tensor: False


def _updates_of_each_replica() -> None:
    updates.update_if_due = _as_it_is


def _one_exchange_of_all_types() -> None:
    def sums(grads: Any) -> Any:
        return summed([gradients._weighted(grad) for grad in grads])

    gradients.sums = sums


def _moments_of_same_replicas() -> None:
    gradients._everyones = summed


def _averages_of_same_replicas() -> None:
    gradients.average_loss = _as_it_is


def _numbers_count_alike() -> None:
    metrics.samplewise_values = _as_it_is


def _results_of_one_replica() -> None:
    metrics.Results.note = lambda self, metric, result: None


def _eager_fillers_count() -> None:
    own = running._uncounted
    running._uncounted = lambda model, given, mine: own(model, mine if tf.executing_eagerly() else given, mine)


def _weights_of_a_number_of_one_replica() -> None:
    gradients.reduce_weighted_values = _as_it_is


def _own_applies_of_each_replica() -> None:
    building.sum_before = lambda optimizers: None


def _rows_looked_up_by_each_replica() -> None:
    gradients.are_unique = lambda tensor: False


def _only_gradients_compared() -> None:
    callbacks.first_batch._outcomes_that_differ = lambda *_, **__: []


def _nothing_compared() -> None:
    callbacks.first_batch.check = lambda *_, **__: None


def _every_model_called() -> None:
    building._has_call = lambda model: True
    building._needs_trace = lambda model: False
    building._build_layers = lambda model, spec, read: model._symbolic_build(data_batch=spec)


def _a_batch_read_to_build() -> None:
    def build(model: Any, spec: Any, read: Any) -> None:
        known = all(None not in leaf.shape.as_list()[1:] for leaf in tf.nest.flatten(spec) if leaf is not None)
        model._symbolic_build(data_batch=spec if known else read())

    building._build_layers = build


def _batch_of_each_replica() -> None:
    own = running.prediction

    def prediction(model: Any) -> Any:
        run = own(model)
        return lambda batches: run([one if hasattr(one, "total") else Batch(one, None) for one in batches])

    running.prediction = prediction


def _epochs_begin_again() -> None:
    callbacks.Resume.has_begun = lambda self, callback: False


def _reminded_after_the_epoch_began() -> None:
    own = callbacks.Resume._continue

    def late(self: Any, folder: Any) -> None:
        remind, self._callback_states.remind = self._callback_states.remind, lambda remembered: None
        own(self, folder)
        if self.resumed is not None:
            begin = self.on_epoch_begin

            def on_epoch_begin(epoch: int, logs: Any = None) -> None:
                begin(epoch, logs)
                remind(self._state.remembered())
                self.on_epoch_begin = begin

            self.on_epoch_begin = on_epoch_begin

    callbacks.Resume._continue = late


def _validation_is_training() -> None:
    callbacks._acts_on_validation = lambda callback: False


def _validations_begin_anew() -> None:
    callbacks.Resume._advance_validation = lambda self, iterators: None


def _finished_fits_read_nothing() -> None:
    own = Batches.start_at

    def start_at(self: Any, iterators: int, taken: int, **how: Any) -> None:
        if taken:
            own(self, iterators, taken, **how)

    batches: Any = Batches
    batches.start_at = start_at


def _caches_begin_anew() -> None:
    repeatable.draws_below_memory_caches = lambda dataset: []


def _only_json_kept() -> None:
    for kind in set(json_values._KINDS) - {"array", "function"}:
        del json_values._KINDS[kind]


def _lost_state_begun() -> None:
    state.CallbackStates.begins_again = lambda self, callback: False


OF_FITS: dict[str, Mend] = {
    "losses of one number": _losses_scaled,
    "sums": _sums_of_parts,
    "positions": _positions_of_each_replica,
    "due updates": _updates_of_each_replica,
    "two types": _one_exchange_of_all_types,
    "moments": _moments_of_same_replicas,
    "compute_average_loss": _averages_of_same_replicas,
    "metrics of one number": _numbers_count_alike,
    "results of metrics": _results_of_one_replica,
    "eager fillers": _eager_fillers_count,
    "weights of one number": _weights_of_a_number_of_one_replica,
    "own applies": _own_applies_of_each_replica,
    "unique rows": _rows_looked_up_by_each_replica,
    "outcomes": _only_gradients_compared,
    "first batch": _nothing_compared,
    "models without call": _every_model_called,
    "unknown sizes": _a_batch_read_to_build,
    "predict_on_batch": _batch_of_each_replica,
}
OF_RESUMES: dict[str, Mend] = {
    "begun epochs": _epochs_begin_again,
    "reminded in time": _reminded_after_the_epoch_began,
    "before validation": _validation_is_training,
    "validations": _validations_begin_anew,
    "finished fits": _finished_fits_read_nothing,
    "caches": _caches_begin_anew,
    "kept values": _only_json_kept,
    "lost state": _lost_state_begun,
}


def take_out(name: str) -> None:
    """Take a mend out, before Keras is repaired."""
    if getattr(import_module(repair._TRAINER), "_tensorplane", False):
        raise RuntimeError("mends: Keras is repaired already; take the mend out before a strategy is made")
    (OF_FITS | OF_RESUMES)[name]()
