"""Saves checkpoints as fast as it can, as a training does: `python -m tests.csi.saving FOLDER`.

Each tensor of a checkpoint is full of the checkpoint's number, which the library prints once it is saved.
"""

from __future__ import annotations

import itertools
import sys
from pathlib import Path

import tensorflow as tf

from tensorplane.checkpoints.checkpointer import Checkpoints
from tensorplane.cluster import Place

_TENSORS, _LENGTH = 4, 1 << 16


class Training:
    """The state of a training, and its checkpoints in a folder."""

    def __init__(self, folder: Path) -> None:
        self.step = tf.Variable(0, dtype=tf.int64)
        self.weights = [tf.Variable(tf.zeros([_LENGTH])) for _ in range(_TENSORS)]
        self.checkpoints = Checkpoints(folder, Place(), step=self.step, weights=self.weights)

    def save(self, step: int) -> None:
        """Saves a step."""
        self.step.assign(step)
        for weight in self.weights:
            weight.assign(tf.fill([_LENGTH], float(step)))
        self.checkpoints.save(step)

    def restored(self) -> int:
        """The step that the newest checkpoint is of; all of it is there and of that step."""
        assert self.checkpoints.restore(), "there is no checkpoint"
        step = int(self.step)
        for weight in self.weights:
            assert bool(tf.reduce_all(weight == float(step))), f"step {step} is mixed with others"
        return step


def main(folder: Path) -> None:
    """Never ends by itself."""
    training = Training(folder)
    for step in itertools.count(1):
        training.save(step)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
