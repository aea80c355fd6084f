"""What an evaluator does: it takes the weights of each new checkpoint of a training that goes on."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import tensorflow as tf

from tensorplane.checkpoints.checkpointer import FOLDER, OtherModel
from tensorplane.checkpoints.files import CheckpointFiles
from tensorplane.errors import UsageError

_LOOK_SECONDS = 1.0


def follow(model: Any, folder: Path | str | None = None, *, look_seconds: float = _LOOK_SECONDS) -> Iterator[int]:
    """Restores the model's weights from each new checkpoint, and yields its step; of several new ones, from the newest.

    It does not end by itself: Kubernetes ends an evaluator with its job. `folder`: of the checkpoints, CHECKPOINT_DIR
    by default. Raises OtherModel if a checkpoint has no weights of this model, and UsageError without a folder.
    """
    base = folder or os.environ.get(FOLDER)
    if not base:
        raise UsageError(f"folder: missing, and {FOLDER} is not set; set checkpoints in the job's settings")
    files, last = CheckpointFiles(Path(base)), -1
    while True:
        if (step := _restored(model, files, last)) is not None:
            last = step
            yield step
        else:
            time.sleep(look_seconds)


def _restored(model: Any, files: CheckpointFiles, after: int) -> int | None:
    """The newest step after this one whose checkpoint could be read; older ones may be deleted while they are read."""
    for step in files.steps():
        if step <= after:
            return None
        prefix = str(files.prefix(step))
        try:
            status = tf.train.Checkpoint(model=model).restore(prefix)
        except tf.errors.OpError:
            continue
        except ValueError as error:
            raise OtherModel(f"{prefix}: its weights have other shapes than those of the model: {error}") from error
        # Optimizer, metrics and position of the training are not read.
        status.expect_partial()
        try:
            status.assert_nontrivial_match()
        except AssertionError:
            raise OtherModel(f"{prefix}: the checkpoint is of another model than the program's") from None
        return step
    return None
