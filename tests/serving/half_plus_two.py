"""The model `half_plus_two` of TF Serving's documentation: x / 2 + 2, by signatures of all three methods."""

from __future__ import annotations

from pathlib import Path

import tensorflow as tf

v1 = tf.compat.v1
VALUES = {"a": 0.5, "b": 2.0, "c": 3.0}


def save(folder: Path) -> None:
    """Writes it as its own script does (saved_model_half_plus_two.py): a graph of TensorFlow 1, over tf.Examples."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    draft = folder.parent / f".draft-{folder.name}"
    builder = v1.saved_model.builder.SavedModelBuilder(str(draft))
    with v1.Session(graph=tf.Graph()) as session:
        examples = v1.placeholder(tf.string, [None], name="tf_example")
        features = {
            "x": tf.io.FixedLenFeature([1], tf.float32),
            "x2": tf.io.FixedLenFeature([1], tf.float32, default_value=[0.0]),
        }
        parsed = tf.io.parse_example(examples, features)
        half, two, three = (v1.get_variable(name, initializer=value) for name, value in VALUES.items())
        x, x2 = parsed["x"], parsed["x2"]
        y, y2, y3 = half * x + two, half * x + three, half * x2 + three
        label = tf.fill(tf.shape(y), "half")
        signatures = {
            "serving_default": _signature({"x": x}, {"y": y}, "predict"),
            "regress_x_to_y": _signature({"inputs": examples}, {"outputs": y}, "regress"),
            "regress_x_to_y2": _signature({"inputs": examples}, {"outputs": y2}, "regress"),
            "regress_x2_to_y3": _signature({"inputs": x2}, {"outputs": y3}, "regress"),
            "classify_x_to_y": _signature({"inputs": examples}, {"scores": y}, "classify"),
            # Not in TF Serving's: what else the two methods take and refuse.
            "labelled": _signature({"inputs": examples}, {"classes": label, "scores": y}, "classify"),
            "labels": _signature({"inputs": examples}, {"classes": label}, "classify"),
            "wide": _signature({"inputs": examples}, {"outputs": tf.concat([y, y2], 1)}, "regress"),
            "counts": _signature({"inputs": examples}, {"outputs": tf.cast(y, tf.int32)}, "regress"),
            "one": _signature({"inputs": examples}, {"outputs": y[:1]}, "regress"),
            "flat": _signature({"inputs": examples}, {"scores": y[:, 0]}, "classify"),
            "neither": _signature({"inputs": examples}, {"y": y}, "classify"),
            "three": _signature({"inputs": examples}, {"classes": label, "scores": y, "y": y2}, "classify"),
        }
        session.run(v1.global_variables_initializer())
        builder.add_meta_graph_and_variables(session, ["serve"], signature_def_map=signatures)
        builder.save()
    draft.rename(folder)


def _signature(inputs: dict[str, tf.Tensor], outputs: dict[str, tf.Tensor], method: str) -> object:
    information = v1.saved_model.utils.build_tensor_info
    return v1.saved_model.signature_def_utils.build_signature_def(
        {name: information(tensor) for name, tensor in inputs.items()},
        {name: information(tensor) for name, tensor in outputs.items()},
        f"tensorflow/serving/{method}",
    )


class Native(tf.Module):  # type: ignore[misc]  # TensorFlow has no types
    """The same in TensorFlow 2, which gives every signature the method Predict."""

    def save(self, folder: Path) -> None:
        """Writes it as a SavedModel with two signatures."""
        examples = tf.TensorSpec([None], tf.string, name="inputs")
        signatures = {
            "classify": tf.function(self._classify).get_concrete_function(examples),
            "regress": tf.function(self._regress).get_concrete_function(examples),
        }
        tf.saved_model.save(self, str(folder), signatures)

    def _regress(self, inputs: tf.Tensor) -> dict[str, tf.Tensor]:
        return {"outputs": tf.io.parse_example(inputs, {"x": tf.io.FixedLenFeature([], tf.float32)})["x"] / 2 + 2}

    def _classify(self, inputs: tf.Tensor) -> dict[str, tf.Tensor]:
        score = self._regress(inputs)["outputs"][:, tf.newaxis]
        return {"classes": tf.fill(tf.shape(score), "half"), "scores": score}
