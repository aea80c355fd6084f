"""`fit` takes arrays as Keras' own does."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
import tf_keras  # type: ignore[import-untyped]

import tensorplane

_X = np.arange(10, dtype="float32").reshape(10, 1)
_Y = 2 * _X
_NIGHTLY = pytest.mark.nightly("as in `make test`, with another part")


def _model() -> Any:
    keras.utils.set_random_seed(1)
    model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1)])
    model.compile(keras.optimizers.SGD(1e-3), "mse")
    return model


@pytest.mark.parametrize("split", [0.3, *(pytest.param(each, marks=_NIGHTLY) for each in (0.25, 0.5))])
def test_the_same_samples_are_held_out(split: float) -> None:
    keywords: dict[str, Any] = {"batch_size": 4, "epochs": 2, "validation_split": split, "shuffle": False}
    own = tensorplane.fit(_model(), _X, _Y, **keywords).history
    keras_own = _model().fit(_X, _Y, verbose=0, **keywords).history
    assert own.keys() == keras_own.keys()
    for name, values in keras_own.items():
        assert own[name] == pytest.approx(values, rel=1e-5), name


@pytest.mark.parametrize(
    "keywords",
    [
        {"batch_size": 4, "validation_split": 0.3, "validation_data": (_X[:2], _Y[:2])},
        {"steps_per_epoch": 5},
        {"validation_split": 0.5, "validation_steps": 2, "steps_per_epoch": 2},
        {"validation_split": None, "validation_data": (_X, _Y), "validation_steps": 5, "callbacks": None},
        {"batch_size": 4, "callbacks": keras.callbacks.LearningRateScheduler(lambda epoch: 1e-3 / (epoch + 1))},
    ],
    ids=lambda keywords: "-".join(keywords),
)
def test_keywords_mean_what_they_mean_to_keras(keywords: Any) -> None:
    own, keras_own = _model(), _model()
    keywords = {"epochs": 2, "shuffle": False, **keywords}
    found = tensorplane.fit(own, _X, _Y, **keywords).history
    wanted = keras_own.fit(_X, _Y, verbose=0, **keywords).history
    assert found.keys() == wanted.keys()
    for name, values in wanted.items():
        assert found[name] == pytest.approx(values, rel=1e-5), name
    for weight, other in zip(own.get_weights(), keras_own.get_weights(), strict=True):
        assert weight == pytest.approx(other, rel=1e-5)


@pytest.mark.parametrize(
    ("arguments", "keywords", "says"),
    [
        ((_X, _Y[:9]), {}, "x, y: have 10, 9 samples; pass the same number of each"),
        ((_X,), {"sample_weight": np.ones(10)}, "sample_weight: given without y"),
        ((_X, _Y), {"validation_split": 0.99}, "validation_split: 0.99 leaves nothing"),
    ],
)
def test_arrays_that_keras_refuses_are_refused(arguments: Any, keywords: Any, says: str) -> None:
    with pytest.raises(ValueError):
        _model().fit(*arguments, verbose=0, **keywords)
    with pytest.raises(ValueError, match=says):
        tensorplane.fit(_model(), *arguments, **keywords)


def test_validation_data_without_an_end_are_refused_before_the_first_step() -> None:
    data, seen = tensorplane.dataset((_X, _Y), lambda x, y: (x, y), global_batch=2), []
    told = keras.callbacks.LambdaCallback(on_train_batch_begin=lambda batch, logs: seen.append(batch))
    with pytest.raises(ValueError, match=r"validation_data: a tensorplane\.dataset has no end; pass arrays"):
        tensorplane.fit(_model(), data, validation_data=data, callbacks=[told])
    assert not seen


def test_a_model_of_another_keras_is_refused_in_one_line() -> None:
    model = tf_keras.Sequential([tf_keras.layers.Dense(1)])
    with pytest.raises(ValueError, match=r"model: a tf_keras.*is not a model of Keras 3; call its own fit"):
        tensorplane.fit(model, tf.constant(_X), tf.constant(_Y))


def test_lists_of_inputs_and_labels_are_taken_as_keras_takes_them() -> None:
    """Of arrays of one shape, tf.data would make one."""

    def model() -> Any:
        keras.utils.set_random_seed(1)
        first, second = keras.Input((1,)), keras.Input((1,))
        both = keras.layers.concatenate([first, second])
        made = keras.Model([first, second], [keras.layers.Dense(1, name=name)(both) for name in ("one", "two")])
        made.compile("sgd", ["mse", "mae"])
        return made

    labels, weights = [_Y, -_Y], [np.arange(10.0), np.ones(10)]
    keywords: dict[str, Any] = {"batch_size": 4, "sample_weight": weights, "validation_split": 0.3, "shuffle": False}
    own = tensorplane.fit(model(), [_X, _X + 1], labels, **keywords).history
    keras_own = model().fit([_X, _X + 1], labels, verbose=0, **keywords).history
    assert own.keys() == keras_own.keys()
    for name, values in keras_own.items():
        assert own[name] == pytest.approx(values, rel=1e-5), name


def test_a_train_step_gets_inputs_without_labels_as_keras_gives_them() -> None:
    """In a tuple, they would have a dimension more where they meet their reconstruction."""

    class Reconstruction(keras.Model):  # type: ignore[misc]  # Keras has no types
        def train_step(self, data: Any) -> Any:
            return {"loss": keras.ops.mean(keras.losses.mean_squared_error(data[:, None], self(data)[:, None]))}

    def model() -> Any:
        inputs = keras.Input((1,))
        made = Reconstruction(inputs, 2 * inputs)
        made.compile("sgd")
        return made

    keras_own = model().fit(_X, batch_size=10, verbose=0).history
    assert tensorplane.fit(model(), _X, batch_size=10).history["loss"] == pytest.approx(keras_own["loss"])


def test_a_data_frame_is_refused_with_the_way_to_an_array() -> None:
    """Its order can be repeated, so that is not what is wrong with it."""

    class DataFrame:
        def __array__(self, *_: Any, **__: Any) -> np.ndarray:
            return _X

    with pytest.raises(ValueError, match=r"^x: has DataFrame, which fit does not take; pass numpy\.asarray of each$"):
        tensorplane.fit(_model(), {"first": DataFrame(), "second": _X}, _Y)
