"""Programs without the library get a repaired Keras in pods with several workers, however they import it."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.runtime.launching import LIBRARY, environments
from tests.support.environment import of_machine
from tests.support.waiting import PATIENT_SECONDS

_SAYS = """
import importlib, tensorflow
from tensorflow.python.eager import context
trainer = importlib.import_module("keras.src.backend.tensorflow.trainer")
print("repaired", getattr(trainer, "_tensorplane", False), "seeded", context.global_seed() is not None)
"""


def _said(imports: str, workers: int) -> str:
    environment = {**of_machine(), "PYTHONPATH": str(LIBRARY), **environments(workers)[0]}
    done = subprocess.run(
        [sys.executable, "-c", imports + _SAYS],
        env=environment,
        capture_output=True,
        text=True,
        timeout=PATIENT_SECONDS,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize("imports", ["import tensorflow", "import keras", "from tensorflow import keras; keras.layers"])
def test_every_order_of_imports_is_repaired_and_seeded(imports: str) -> None:
    assert _said(imports, workers=2) == "repaired True seeded True"


def test_a_single_process_is_left_alone() -> None:
    assert _said("import tensorflow", workers=1) == "repaired False seeded False"
