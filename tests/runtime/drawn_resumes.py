"""Interrupts the fits that a test draws at a state, fits again, and prints what differs from a run without.

Run as a program: `drawn_resumes.py CASE…`, each a JSON object (`Case`). Each case prints one line of JSON after the
word `case`: what differs, none of it if all is well.
"""

from __future__ import annotations

import enum
import json
import os
import sys
import tempfile
from collections import Counter, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, ClassVar
from unittest.mock import patch

import keras
import numpy as np
import tensorflow as tf

import tensorplane
from tensorplane import callbacks
from tensorplane.keras.fit_state import CallbackStates
from tensorplane.keras.optimizers import optimizers_of
from tensorplane.keras.seed_generators import states_of
from tensorplane.stop import StopRequest

# A program has the library on its path, not the tests.
sys.path.append(str(Path(__file__).parents[2]))

from tests.runtime import drawn_fits, drawn_models  # on that path
from tests.runtime.drawn_models import SIZE, labelled, reported, stack

layers = keras.layers
SAMPLES, BATCH, EPOCHS = 23, 5, 3


class Case(drawn_fits.Case):
    """A point of the grammar; the names are those of the tables below, and of drawn fits."""

    callbacks: str
    fits: int
    replicas: int
    how: str
    """`kill`, which leaves nothing but what was saved, or `stop`, as SIGTERM."""
    point: str
    """A method of callbacks, at whose call of number `call` it happens."""
    call: int


class Killed(BaseException):
    """As SIGKILL: nothing of the program goes on."""


class Phase(enum.Enum):
    FIRST = 1
    LATER = 2


class Counts(keras.callbacks.Callback):  # type: ignore[misc]  # Keras has no types
    """Keeps values of many types, and lets them decide the learning rate."""

    def __init__(self) -> None:
        super().__init__()
        self.begun, self.phase, self.seen = 0, Phase.FIRST, deque[float](maxlen=3)
        self.batches: Counter[int] = Counter()
        self.random = np.random.default_rng(5)

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        self.begun += 1
        self.phase = Phase.FIRST if self.begun == 1 else Phase.LATER
        self.model.optimizer.learning_rate = _rate(self.model) * (0.9 + 0.01 * self.begun)

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        self.batches[batch] += 1
        self.seen.append(float(next(iter(logs.values()))))

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        factor = 1 + 0.01 * self.random.random() * len(self.seen) * (self.phase is Phase.LATER)
        self.model.optimizer.learning_rate = _rate(self.model) * factor


def _rate(model: Any) -> float:
    return float(tf.convert_to_tensor(model.optimizer.learning_rate))


class Holds(keras.callbacks.Callback):  # type: ignore[misc]  # Keras has no types
    """Opens something for each epoch that nobody can keep."""

    def __init__(self) -> None:
        super().__init__()
        self.begun = 0

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        self.begun += 1
        self.handle = Path(os.devnull).open("rb")  # noqa: SIM115  # closed at the epoch's end

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        self.handle.read()

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        self.handle.close()
        del self.handle


class Perturbs(keras.callbacks.Callback):  # type: ignore[misc]  # Keras has no types
    """Validates with other weights than it trains with."""

    def on_test_begin(self, logs: Any = None) -> None:
        self.weights = self.model.get_weights()
        self.model.set_weights([weight * 1.5 for weight in self.weights])

    def on_test_end(self, logs: Any = None) -> None:
        self.model.set_weights(self.weights)
        del self.weights


class Looks(keras.callbacks.Callback):  # type: ignore[misc]  # Keras has no types
    """Evaluates and predicts before training begins."""

    def on_train_begin(self, logs: Any = None) -> None:
        x = np.ones((4, SIZE), "float32")
        self.model.evaluate(x, tf.nest.map_structure(np.ones_like, self.model.predict(x, verbose=0)), verbose=0)


class OwnStep(keras.Sequential):  # type: ignore[misc]  # Keras has no types
    """A train_step of its own, with an optimizer for the last layer."""

    def compile(self, *arguments: Any, **keywords: Any) -> None:
        super().compile(*arguments, **keywords)
        self.second = keras.optimizers.Adam(0.03, use_ema=True, ema_momentum=0.6)

    def train_step(self, data: Any) -> Any:
        x, y = data
        with tf.GradientTape() as tape:
            predicted = self(x, training=True)
            loss = self.compute_loss(y=y, y_pred=predicted)
        weights = self.trainable_variables
        gradients, half = tape.gradient(loss, weights), len(weights) // 2
        self.optimizer.apply(gradients[:half], weights[:half])
        self.second.apply(gradients[half:], weights[half:])
        return reported(self, loss, y, predicted)


def _decayed(epoch: int, rate: float) -> float:
    return float(rate if epoch < 1 else rate * np.exp(-0.1))


CALLBACKS: dict[str, Callable[[], list[Any]]] = {
    "none": list,
    "halving": lambda: [keras.callbacks.LearningRateScheduler(lambda epoch, rate: rate * 0.5)],
    "decay": lambda: [keras.callbacks.LearningRateScheduler(_decayed)],
    "swap each epoch": lambda: [keras.callbacks.SwapEMAWeights(swap_on_epoch=True)],
    "swap to validate": lambda: [keras.callbacks.SwapEMAWeights()],
    "plateau": lambda: [keras.callbacks.ReduceLROnPlateau("loss", patience=0, min_delta=1.0)],
    "early": lambda: [keras.callbacks.EarlyStopping("val_loss", patience=0, restore_best_weights=True)],
    "counts": lambda: [Counts()],
    "holds": lambda: [Holds(), Counts()],
    "looks": lambda: [Looks(), keras.callbacks.EarlyStopping("val_loss", patience=1)],
    "perturbs": lambda: [Perturbs(), keras.callbacks.EarlyStopping("val_loss", patience=1)],
}
FAMILIES: dict[str, Callable[[], Any]] = {
    **drawn_models.FAMILIES,
    "dropout": lambda: stack(layers.Dense(4, "tanh"), layers.Dropout(0.2, seed=4)),
    "own step": lambda: stack(layers.Dense(4, "tanh"), layers.Dropout(0.2, seed=4), kind=OwnStep),
}
DATA = (
    *("shuffled", "cached shuffle", "validation of the same shuffle", "steps of an endless one", "validation steps"),
    *("more steps than batches", "arrays"),
)
POINTS = (
    *("on_epoch_begin", "on_train_batch_begin", "on_train_batch_end", "on_epoch_end"),
    *("on_test_begin", "on_test_batch_end", "on_test_end", "on_train_end"),
)


def _data(case: Case) -> tuple[Any, dict[str, Any]]:
    """What `fit` gets: the data, and keywords."""
    data, keywords = _with_validation(case["data"], *_samples(case["family"]))
    if case["family"] == "gan":
        return data, {name: value for name, value in keywords.items() if not name.startswith("validation")}
    return data, keywords


def _samples(family: str) -> tuple[np.ndarray, Any]:
    random = np.random.default_rng(0)
    x = random.normal(size=(SAMPLES, SIZE)).astype("float32")
    return x, labelled(family, np.abs(x[:, :3]) * 2)


def _with_validation(name: str, x: np.ndarray, y: Any) -> tuple[Any, dict[str, Any]]:
    if name == "arrays":
        return x, {"y": y, "batch_size": BATCH, "validation_split": 0.3}
    samples = tf.data.Dataset.from_tensor_slices((x, y))
    shuffled = samples.shuffle(SAMPLES, seed=3)
    validation: dict[str, Any] = {"validation_data": samples.batch(BATCH)}
    if name == "validation of the same shuffle":
        validation = {"validation_data": shuffled.batch(2 * BATCH), "validation_steps": 1}
    if name == "cached shuffle":
        shuffled = shuffled.cache()
    if name == "validation steps":
        validation = {"validation_data": samples.batch(4).repeat(), "validation_steps": 2}
    if name == "steps of an endless one":
        return shuffled.batch(BATCH).repeat(), {"steps_per_epoch": 4, **validation}
    if name == "more steps than batches":
        return shuffled.batch(2), {"steps_per_epoch": 5, **validation}
    return shuffled.batch(BATCH), validation


class _At:
    """Acts at a call of a method, of all fits of the program."""

    left: ClassVar[list[int]] = [0]
    act: ClassVar[Callable[[], None]] = staticmethod(lambda: None)

    @staticmethod
    def callback(point: str) -> Any:
        def called(self: Any, *_: Any, **__: Any) -> None:
            _At.left[0] -= 1
            if _At.left[0] == 0:
                _At.act()

        # As one of Keras' own, which change nothing when they validate.
        return type("At", (keras.callbacks.Callback,), {point: called, "__module__": "keras.tests"})()


def _program(case: Case, folder: Path) -> dict[str, Any]:
    """One start of a program, and what it ends with. With two fits, the first trains the last layer alone."""
    callbacks._used.clear()
    keras.utils.set_random_seed(1)
    tf.random.set_seed(1)
    strategy = _strategy(case["replicas"])
    with strategy.scope():
        model = FAMILIES[case["family"]]()
    data, keywords = _data(case)
    found: dict[str, Any] = {}
    for number in range(case["fits"]):
        with strategy.scope():
            model.layers[0].trainable = number + 1 == case["fits"]
            drawn_fits.compile_as(case, model)
        others = CALLBACKS[case["callbacks"]]()
        history = tensorplane.fit(
            model,
            data,
            epochs=EPOCHS,
            callbacks=[*others, _At.callback(case["point"])],
            folder=folder,
            every_steps=2,
            name=f"fit-{number}",
            **keywords,
        )
        found[f"history {number}"] = dict(sorted(history.history.items()))
        found[f"callbacks {number}"] = CallbackStates(others).state()
        found[f"rate {number}"] = _rate(model)
    trained = [*model.variables, *(one for each in optimizers_of(model) for one in each.variables)]
    found["weights"] = [variable.numpy() for variable in trained]
    found["seeds"] = [variable.numpy() for variable in states_of(model)]
    return found


def _strategy(replicas: int) -> tf.distribute.Strategy:
    if replicas == 1:
        return tf.distribute.get_strategy()
    from tests.runtime import two_replicas

    return two_replicas.strategy()


def differences(case: Case, folder: Path) -> list[str]:
    """What differs after an interruption, and whether there was one."""
    _At.left = [0]
    whole = _program(case, folder / "whole")
    with _interrupted(case), suppress(Killed, SystemExit):
        _program(case, folder / "run")
    _At.left = [0]
    resumed = _program(case, folder / "run")
    return [name for name, value in whole.items() if not _is_same(value, resumed[name])]


@contextmanager
def _interrupted(case: Case) -> Iterator[None]:
    came: list[bool] = []

    def act() -> None:
        if case["how"] == "kill":
            raise Killed
        came.append(True)

    _At.left, _At.act = [case["call"]], staticmethod(act)
    # SIGTERM itself would come once for all cases.
    with patch.object(StopRequest, "came", property(lambda self: bool(came))):
        yield


def _is_same(one: Any, other: Any) -> bool:
    return repr(_plain(one)) == repr(_plain(other))


def _plain(value: Any) -> Any:
    """The bits of arrays."""
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tobytes()
    return [_plain(one) for one in value] if isinstance(value, list) else value


def main() -> None:
    tf.config.threading.set_intra_op_parallelism_threads(1)
    if mend := os.environ.get("WITHOUT"):
        from tests.runtime.mends import take_out

        take_out(mend)
    cases: list[Case] = [json.loads(text) for text in sys.argv[1:]]
    if any(case["replicas"] > 1 for case in cases):
        _strategy(2)
    for case in cases:
        with tempfile.TemporaryDirectory() as folder:
            print("case", json.dumps(differences(case, Path(folder))), flush=True)


if __name__ == "__main__":
    main()
