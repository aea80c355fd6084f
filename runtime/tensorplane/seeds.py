"""One random seed for all workers of a run, the same after each restart, where the program has set none."""

from __future__ import annotations

import os
import random
import zlib
from collections.abc import Mapping
from pathlib import Path

from tensorplane import declared_lineage


def of_run(environment: Mapping[str, str] = os.environ) -> int:
    """A number from the name of the run, from 1; without CHECKPOINT_DIR, from the workers' addresses.

    A job that makes a model again has the number of the run that made it first.
    """
    if (before := declared_lineage.reproduces(environment)).get("runSeed"):
        return int(before["runSeed"])
    folder = environment.get("CHECKPOINT_DIR")
    name = Path(folder).name if folder else _cluster(environment)
    return zlib.crc32(name.encode()) % (2**31 - 1) + 1


def set_common(environment: Mapping[str, str] = os.environ) -> None:
    """Seed TensorFlow, NumPy and Python, unless the program has already seeded TensorFlow."""
    import numpy as np
    import tensorflow as tf
    from tensorflow.python.eager import context

    if context.global_seed() is None:
        seed = of_run(environment)
        random.seed(seed)
        np.random.seed(seed)
        tf.random.set_seed(seed)


def generator() -> random.Random | None:
    """What seeds TensorFlow's eager operations and datasets that have no seed; None if the program has set none."""
    from tensorflow.python.eager import context

    found: random.Random | None = getattr(context.context(), "_rng", None)
    return found


def _cluster(environment: Mapping[str, str]) -> str:
    import json

    config = json.loads(environment.get("TF_CONFIG") or "{}")
    return json.dumps(config.get("cluster", {}), sort_keys=True)
