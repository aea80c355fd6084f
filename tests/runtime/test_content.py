"""Digests of what a published version contains: the same for the same model, others for another one."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from tensorflow import keras

import tensorplane
from tensorplane import content
from tests.runtime.launching import of_library

_PROGRAM = """
import sys
from pathlib import Path
import keras
import numpy as np
import tensorflow as tf
import tensorplane

keras.utils.set_random_seed(7)
x = np.random.default_rng(7).normal(size=(64, 4)).astype("float32")
# Another number of functions was traced before, as after a restart.
tf.function(lambda value: value + 1)(tf.constant(float(sys.argv[2])))
layers = [keras.layers.Dense(4, activation="relu"), keras.layers.BatchNormalization(), keras.layers.Dense(1)]
model = keras.Sequential([keras.Input((4,)), *layers])
model.compile(optimizer="adam", loss="mse")
model.fit(x, x.sum(1), epochs=1, batch_size=16, verbose=0)
tensorplane.publish(model, Path(sys.argv[1]))
"""


@pytest.mark.nightly("two imports of TensorFlow, with other seeds of Python's hashes")
def test_two_processes_train_the_same_model(tmp_path: Path) -> None:
    for name in ("one", "two"):
        command = [sys.executable, "-c", _PROGRAM, str(tmp_path / name), str(len(name))]
        subprocess.run(command, env=of_library(PYTHONHASHSEED=str(len(name))), check=True)
    one, two = (json.loads((tmp_path / name / "1" / content.FILE).read_text()) for name in ("one", "two"))
    assert one == two
    assert {"signature serving_default", "variable sequential/dense/kernel"} <= set(one)
    weights = [(tmp_path / name / "1" / "fingerprint.pb").read_bytes() for name in ("one", "two")]
    assert weights[0] != weights[1], "the files themselves differ, which is why there are digests"


def _published(folder: Path, scale: float = 1.0, activation: str = "relu") -> dict[str, str]:
    keras.utils.set_random_seed(7)
    dense = keras.layers.Dense(2, activation=activation, name="dense")
    model = keras.Sequential([keras.Input((2,), name="x"), dense], name="model")
    model.set_weights([scale * np.ones_like(each) for each in model.get_weights()])
    tensorplane.publish(model, folder)
    return content.of(folder / "1")


def _differs(one: dict[str, str], two: dict[str, str]) -> set[str]:
    return {part.split()[0] for part in {*one, *two} if one.get(part) != two.get(part)}


def test_other_weights_are_another_variable_alone(tmp_path: Path) -> None:
    first = _published(tmp_path / "a")
    assert _differs(first, _published(tmp_path / "b")) == set()
    assert _differs(first, _published(tmp_path / "c", scale=1.0000001)) == {"variable"}


def test_another_operation_is_another_signature_alone(tmp_path: Path) -> None:
    assert _differs(_published(tmp_path / "a"), _published(tmp_path / "b", activation="tanh")) == {"signature"}


def test_a_constant_in_a_function_counts(tmp_path: Path) -> None:
    def saved(name: str, factor: float) -> dict[str, str]:
        class Scaled(tf.Module):  # type: ignore[misc]  # TensorFlow has no types
            @tf.function(input_signature=[tf.TensorSpec([None])])  # type: ignore[untyped-decorator]
            def __call__(self, x: tf.Tensor) -> tf.Tensor:
                return factor * x

        module = Scaled()
        tf.saved_model.save(module, str(tmp_path / name), signatures=module.__call__)
        return content.of(tmp_path / name)

    assert _differs(saved("a", 2.0), saved("b", 2.0)) == set()
    assert _differs(saved("a", 2.0), saved("c", 3.0)) == {"signature"}


def test_other_files_count_by_their_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a", "b"):
        (tmp_path / name / "assets").mkdir(parents=True)
        (tmp_path / name / "assets" / "words.txt").write_text(name)
        (tmp_path / name / "assets.extra").mkdir()
        (tmp_path / name / "assets.extra" / "run").write_text(name)
    assert [set(content.of(tmp_path / name)) for name in ("a", "b")] == [{"file assets/words.txt"}] * 2
    assert content.of(tmp_path / "a") != content.of(tmp_path / "b")


def test_a_model_that_cannot_be_taken_apart_is_published(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def write(folder: Path) -> None:
        folder.mkdir()
        (folder / "saved_model.pb").write_bytes(b"no protobuf")

    assert tensorplane.publish(write, tmp_path) == 1
    assert not (tmp_path / "1" / content.FILE).exists()
    assert "the model's content has no digests" in capsys.readouterr().err
