"""The UCI handwritten digits, and which are held out: one split for training and for whoever asks the model later."""

from __future__ import annotations

from pathlib import Path

import numpy as np

SEED = 7
HELD_OUT = 0.2

Examples = tuple[np.ndarray, np.ndarray]


def load(path: Path, seed: int = SEED) -> tuple[Examples, Examples]:
    """Images (8 rows of 8 pixels from 0 to 16) with their digits: those to train on, and those held out.

    `path` is the file that scikit-learn ships, gzipped lines of 64 pixels and the digit. The split follows from `seed`.
    """
    table = np.loadtxt(path, delimiter=",", dtype=np.float32)
    table = table[np.random.default_rng(seed).permutation(len(table))]
    images, digits = table[:, :64].reshape(-1, 8, 8), table[:, 64].astype(np.int64)
    held_out = round(len(table) * HELD_OUT)
    return (images[held_out:], digits[held_out:]), (images[:held_out], digits[:held_out])
