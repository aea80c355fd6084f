"""The files of checkpoints in a run's folder: whole or absent, found by step, read before they are trusted.

A checkpoint of step 300 is `ckpt-300.index` and `ckpt-300.data-00000-of-00001`. Both are written and flushed in a
hidden folder, and the index is moved into place last: a checkpoint without its index does not exist. TensorFlow's own
file `checkpoint` names the newest for other readers; nothing here depends on it.
"""

from __future__ import annotations

import contextlib
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import tensorflow as tf

from tensorplane.checkpoints import disk
from tensorplane.checkpoints.run_folder import TakenOver

_INDEX = re.compile(r"ckpt-(\d+)\.index")
_DRAFTS = ".saving"
_STATE = "checkpoint"
"""The file in which TensorFlow looks for the newest, in the text form of its `CheckpointState`."""
_UNREADABLE = (tf.errors.OpError, OSError, IndexError, RuntimeError, ValueError)
"""How TensorFlow's reader reports a file that is cut off, missing, or has other bytes than were written."""


class CheckpointFiles:
    """The checkpoints in one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def create(self, run: Path | None) -> None:
        """Creates the folder. Below `run`, which the launcher has created, raises TakenOver if `run` has gone.

        A folder that another gang has taken over is never created again.
        """
        if run is None or not self.folder.is_relative_to(run):
            self.folder.mkdir(parents=True, exist_ok=True)
            return
        with self._unless_taken():
            run.stat()
            for folder in (*reversed(self.folder.relative_to(run).parents), self.folder.relative_to(run)):
                (run / folder).mkdir(exist_ok=True)

    def steps(self) -> list[int]:
        """The steps that have a checkpoint, the newest first."""
        if not self.folder.is_dir():
            return []
        found = (_INDEX.fullmatch(path.name) for path in self.folder.iterdir())
        return sorted((int(name.group(1)) for name in found if name), reverse=True)

    def prefix(self, step: int) -> Path:
        """What TensorFlow takes as the path of a checkpoint."""
        return self.folder / f"ckpt-{step}"

    def load_error(self, step: int) -> str | None:
        """Why the checkpoint cannot be loaded; None if every value is as it was written, by TensorFlow's checksums."""
        try:
            reader = tf.train.load_checkpoint(str(self.prefix(step)))
            for name in reader.get_variable_to_shape_map():
                reader.get_tensor(name)
        except _UNREADABLE as error:
            return " ".join(str(error).split())[:200] or type(error).__name__
        return None

    def put(self, step: int, write: Callable[[Path], None]) -> None:
        """Adds the checkpoint that `write` puts at the prefix it is given. Raises TakenOver if the folder has gone."""
        drafts = self.folder / _DRAFTS
        target = self.prefix(step)
        with self._unless_taken():
            shutil.rmtree(drafts, ignore_errors=True)
            drafts.mkdir()
            write(drafts / target.name)
            index = drafts / f"{target.name}.index"
            parts = [path for path in drafts.iterdir() if path.name.startswith(f"{target.name}.data-")]
            for path in (index, *parts):
                disk.flush(path)
            # A torn one of the same step, if there is one. Its data must never meet the new index.
            self._remove(step)
            for path in (*parts, index):
                path.rename(self.folder / path.name)
            disk.flush(self.folder)

    def keep(self, newest: int, *, before: int) -> None:
        """Deletes all but the newest of the checkpoints up to step `before`, and names the rest for other readers."""
        with self._unless_taken():
            steps = [step for step in self.steps() if step <= before]
            kept = [self.prefix(step).name for step in reversed(steps[:newest])]
            lines = [
                f'model_checkpoint_path: "{kept[-1]}"',
                *(f'all_model_checkpoint_paths: "{name}"' for name in kept),
            ]
            draft = self.folder / _DRAFTS / _STATE
            draft.write_text("\n".join(lines) + "\n")
            draft.replace(self.folder / _STATE)
            for step in steps[newest:]:
                self._remove(step)

    def _remove(self, step: int) -> None:
        """The index first: what is left without it is no checkpoint."""
        prefix = self.prefix(step)
        prefix.with_name(f"{prefix.name}.index").unlink(missing_ok=True)
        for path in self.folder.glob(f"{prefix.name}.data-*"):
            path.unlink(missing_ok=True)

    @contextlib.contextmanager
    def _unless_taken(self) -> Iterator[None]:
        try:
            yield
        except (FileNotFoundError, tf.errors.NotFoundError) as error:
            if self.folder.exists():
                raise
            raise TakenOver(f"{self.folder}: another gang has taken this run over") from error
