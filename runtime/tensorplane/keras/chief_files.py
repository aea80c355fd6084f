"""Files of Keras' own callbacks: the chief writes them, as workers would otherwise write the same files at once.

On the other workers the callbacks run too, since what they save may be computed by all workers, but they write to a
temporary folder, which is deleted when the program ends.
"""

from __future__ import annotations

import atexit
import functools
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import keras

_PATHS: dict[type, str] = {
    keras.callbacks.ModelCheckpoint: "filepath",
    keras.callbacks.TensorBoard: "log_dir",
    keras.callbacks.CSVLogger: "filename",
}
"""The attribute with the path that a callback writes to."""


def leave_to_the_chief(callbacks: Sequence[Any]) -> None:
    """Make these callbacks of a worker that is not the chief write elsewhere. Once done, it does nothing."""
    for callback in callbacks:
        for kind, attribute in _PATHS.items():
            if isinstance(callback, kind):
                _redirect(callback, attribute)
        if isinstance(callback, keras.callbacks.BackupAndRestore):
            # Every worker restores from the chief's folder.
            callback._save_model = _nothing
            callback.delete_checkpoint = False


def _redirect(callback: Any, attribute: str) -> None:
    path = Path(getattr(callback, attribute))
    if _scratch() not in path.parents:
        # Its own folder: two callbacks may have the same file name. The end of the name decides the format.
        setattr(callback, attribute, str(Path(tempfile.mkdtemp(dir=_scratch())) / path.name))


def _nothing() -> None:
    """In place of a save."""


@functools.cache
def _scratch() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="tensorplane-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder
