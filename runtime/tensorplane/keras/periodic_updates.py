"""Updates that an optimizer makes every few steps: from accumulated gradients, and to averages of the weights.

Keras decides in each replica whether one is due, in a branch from which TensorFlow cannot update the variables of the
others. Here all replicas decide together.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from tensorplane.keras.exact_gradients import exchanges, summed_already

Function = Callable[..., Any]


def update_if_due(original: Function) -> Function:
    """`_backend_apply_gradients` of Keras' optimizers, where something is not due in each step."""

    @functools.wraps(original)
    def apply(self: Any, grads: Sequence[Any], trainable_variables: Sequence[Any]) -> None:
        overwrites = self.use_ema and self.ema_overwrite_frequency
        if not exchanges() or not (self.gradient_accumulation_steps or overwrites):
            original(self, grads, trainable_variables)
            return
        arguments = list(grads), list(trainable_variables)
        tf.distribute.get_replica_context().merge_call(_Together(self).update, args=arguments)

    return apply


class _Together:
    """An optimizer's update of one step, in the order of Keras' `_backend_apply_gradients`."""

    def __init__(self, optimizer: Any) -> None:
        self._optimizer = optimizer
        self._every = optimizer.gradient_accumulation_steps or 1

    def update(self, strategy: Any, grads: Any, variables: Any) -> None:
        """Called once for all replicas, with gradients that are already sums."""
        optimizer, every, overwrite = self._optimizer, self._every, self._optimizer.ema_overwrite_frequency
        before = strategy.experimental_local_results(optimizer._iterations.value)[0]

        def on_each(function: Function) -> Callable[[], None]:
            return lambda: _nothing(strategy.extended.call_for_each_replica(function, args=(grads, variables)))

        with summed_already(optimizer):
            if every == 1:
                on_each(self._apply)()
            else:
                tf.cond(tf.equal((before + 1) % every, 0), on_each(self._apply_accumulated), on_each(self._accumulate))
            if optimizer.use_ema:
                on_each(self._average)()
            if optimizer.use_ema and overwrite:
                tf.cond(tf.equal((before // every + 1) % overwrite, 0), self._take_average, lambda: None)

    def _apply(self, grads: Any, variables: Any) -> None:
        optimizer = self._optimizer
        grads = optimizer._clip_gradients(grads)
        optimizer._apply_weight_decay(variables)
        optimizer._backend_update_step(grads, variables, optimizer.learning_rate)

    def _apply_accumulated(self, grads: Any, variables: Any) -> None:
        pairs = zip(grads, self._accumulated(variables), strict=True)
        self._apply([(grad + earlier) / self._every for grad, earlier in pairs], variables)
        self._optimizer._backend_reset_gradient_accumulators()

    def _accumulate(self, grads: Any, variables: Any) -> None:
        self._optimizer._backend_increment_gradient_accumulators(grads, self._accumulated(variables))

    def _accumulated(self, variables: Any) -> list[Any]:
        optimizer = self._optimizer
        return [optimizer._accumulated_gradients[optimizer._get_variable_index(one)] for one in variables]

    def _average(self, *_: Any) -> None:
        self._optimizer._update_model_variables_moving_average(self._optimizer._trainable_variables)

    def _take_average(self) -> None:
        self._optimizer._overwrite_model_variables_with_average_value(self._optimizer._trainable_variables)


def _nothing(_: Any) -> None:
    """The value of a branch that is executed for what it does."""
