"""Programs without the library get a repaired Keras in pods with several workers, however they import it."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.runtime.launching import environments, of_library
from tests.support.waiting import PATIENT_SECONDS

_SAYS = """
import importlib, tensorflow
from tensorflow.python.eager import context
trainer = importlib.import_module("keras.src.backend.tensorflow.trainer")
print("repaired", getattr(trainer, "_tensorplane", False), "seeded", context.global_seed() is not None)
"""

_NIGHTLY = pytest.mark.nightly("an import of TensorFlow each; `make test` has the order that repairs the most")


def _printed(imports: str, workers: int) -> str:
    # Not forked: the order of its imports is the claim.
    done = subprocess.run(
        [sys.executable, "-c", imports + _SAYS],
        env=of_library(**environments(workers)[0]),
        capture_output=True,
        text=True,
        timeout=PATIENT_SECONDS,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize(
    "imports",
    [
        "from tensorflow import keras; keras.layers",
        pytest.param("import tensorflow", marks=_NIGHTLY),
        pytest.param("import keras", marks=_NIGHTLY),
    ],
)
def test_every_order_of_imports_is_repaired_and_seeded(imports: str) -> None:
    assert _printed(imports, workers=2) == "repaired True seeded True"


@_NIGHTLY
def test_a_single_process_is_left_alone() -> None:
    assert _printed("import tensorflow", workers=1) == "repaired False seeded False"
