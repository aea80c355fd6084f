"""How long a loop trains, and when it saves and logs."""

from __future__ import annotations

from dataclasses import dataclass

from tensorplane.checkpoints.checkpointer import Checkpointer


@dataclass(frozen=True)
class Schedule:
    """How many steps to train, and when to save and log."""

    steps: int
    save_every: int | None = None
    """Steps between two checkpoints; by default what the job's settings say: `checkpoints.everySteps`."""
    log_every: int = 50
    """Steps per call into TensorFlow; SIGTERM is only checked between calls."""

    def next_look(self, step: int, checkpoints: Checkpointer) -> int:
        """The step after `step` at which to ask `is_due`."""
        if every := self.save_every:
            return step - step % every + every
        return checkpoints.ask_after(step)

    def is_due(self, step: int, checkpoints: Checkpointer) -> bool:
        """Whether to save after `step`."""
        if every := self.save_every:
            # Loops may not stop at its multiples.
            return step // every > checkpoints.last // every
        return checkpoints.due(step)
