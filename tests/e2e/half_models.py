"""Models that servers of tests load: this machine's TensorFlow saves them once, and tests publish copies on volumes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tensorplane.components.base.names import digest
from tensorplane.core.paths import cache
from tensorplane.core.scratch import scratch

COUNT = 10
_PROGRAM = f"""
import sys
import tensorflow as tf

X = [tf.TensorSpec([None], tf.float32, name="x")]

class Half(tf.Module):
    def __init__(self, n):
        self.n = tf.Variable(float(n))

    @tf.function(input_signature=X)
    def call(self, x):
        return {{"y": x / 2 + self.n}}

class Failing(Half):
    @tf.function(input_signature=X)
    def call(self, x):
        with tf.control_dependencies([tf.debugging.assert_less(x, 0.0)]):
            return {{"y": x / 2 + self.n}}

class OtherInput(tf.Module):
    @tf.function(input_signature=[tf.TensorSpec([None], tf.int32, name="x")])
    def call(self, x):
        return {{"y": x}}

halves = {{f"half-{{n}}": Half(n) for n in range({COUNT})}}
for name, model in {{**halves, "failing": Failing(0), "other-input": OtherInput()}}.items():
    tf.saved_model.save(model, f"{{sys.argv[1]}}/{{name}}", {{"serving_default": model.call}})
"""


def half(number: int) -> str:
    """The name of the model that answers x / 2 + `number`, of which there are `COUNT`."""
    return f"half-{number % COUNT}"


def publish(name: str, model: Path, version: int) -> None:
    """Publishes a model in a folder of a volume, by renaming a copy.

    `name`: that of `half`; `failing` fails for positive numbers, `other-input` takes integers.
    """
    model.mkdir(exist_ok=True)
    model.chmod(0o777)  # controllers write beside the versions
    copy = model.with_name(f".draft-{model.name}-{version}")
    subprocess.run(["cp", "-r", _saved() / name, copy], check=True)
    copy.rename(model / str(version))


def _saved() -> Path:
    folder = cache() / "test-models" / digest(_PROGRAM)
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with scratch("test-models") as work:
            target = work / "models"
            subprocess.run([sys.executable, "-c", _PROGRAM, target], check=True)
            target.replace(folder)
    return folder
