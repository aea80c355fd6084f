"""When a loop saves."""

from __future__ import annotations

from pathlib import Path

import tensorflow as tf

from tensorplane import Checkpointer, Place, Schedule


def test_a_loop_that_stops_at_other_steps_than_multiples_saves_as_often(tmp_path: Path) -> None:
    schedule, checkpoints = Schedule(400, save_every=50), Checkpointer(tmp_path, Place(), step=tf.Variable(0))
    checkpoints.save(49)
    saved = []
    for step in range(60, 400, 20):
        if schedule.is_due(step, checkpoints):
            checkpoints.save(step)
            saved.append(step)
    checkpoints.close()
    assert saved == [60, 100, 160, 200, 260, 300, 360]
