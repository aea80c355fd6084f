"""Snapshots taken while a training saves checkpoints: each restores to a whole one, no older than was saved by then.

The training and the snapshots run side by side, so that snapshots are of any moment of a save.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tensorplane.core.paths import PROJECT
from tests.csi.client import of_snapshot
from tests.csi.driver import GUARDED, Driver
from tests.support import counts
from tests.support.waiting import eventually

SNAPSHOTS = counts.of(quick=50, nightly=500)
MIB = 4096
_TOGETHER = 25
"""Snapshots that lie beside each other before they are looked at and deleted."""
_SAME = 3
"""Snapshots between which nobody waits for the training to have saved again."""


class Saver:
    """A training in a process of its own."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.saved = 0
        self._process = process
        threading.Thread(target=self._read, daemon=True).start()

        def saves() -> int:
            assert process.poll() is None, "the training saves nothing"
            return self.saved

        eventually(saves)

    def _read(self) -> None:
        for line in self._process.stdout or ():
            if found := re.search(r"saved=(\d+)", line):
                self.saved = int(found[1])

    @property
    def is_saving(self) -> bool:
        return self._process.poll() is None


@contextmanager
def saving(folder: Path) -> Iterator[Saver]:
    """Saves checkpoints into a folder meanwhile."""
    program = [sys.executable, "-m", "tests.csi.saving", str(folder)]
    environment = os.environ | {
        "PYTHONPATH": str(PROJECT / "runtime"),
        "TF_CPP_MIN_LOG_LEVEL": "2",
        "CUDA_VISIBLE_DEVICES": "",
    }
    with subprocess.Popen(
        [*GUARDED, *program], cwd=PROJECT, env=environment, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            yield Saver(process)
        finally:
            process.kill()


def _restored(driver: Driver, snapshot: str) -> int:
    """The step that a snapshot holds, read from a volume made of it."""
    from tests.csi.saving import Training

    volume = driver.client.create(f"of-{snapshot}", MIB, volume_content_source=of_snapshot(snapshot)).volume_id
    step: int = Training(driver.volume(volume) / "checkpoints").restored()
    driver.client.DeleteVolume(volume_id=volume)
    driver.client.DeleteSnapshot(snapshot_id=snapshot)
    return step


@pytest.mark.counted
@pytest.mark.nightly("two processes of TensorFlow; test_moment tells it of a small program")
def test_every_snapshot_restores_to_a_checkpoint(driver: Driver) -> None:
    volume = driver.client.create("training", MIB).volume_id
    taken: dict[str, int] = {}
    steps = []
    with saving(driver.volume(volume) / "checkpoints") as saver:
        for number in range(SNAPSHOTS):
            if number % _SAME == 0:
                # However slow saves are beside snapshots, these are of different moments.
                eventually(lambda told=saver.saved: saver.saved > told + 1)  # type: ignore[misc]
            saved = saver.saved
            name = f"snapshot-{number}"
            taken[driver.client.CreateSnapshot(name=name, source_volume_id=volume).snapshot.snapshot_id] = saved
            if len(taken) == _TOGETHER or number == SNAPSHOTS - 1:
                for snapshot, saved_before in taken.items():
                    steps.append(_restored(driver, snapshot))
                    assert steps[-1] >= saved_before
                taken = {}
        assert saver.is_saving
    assert len(steps) == SNAPSHOTS
    assert steps == sorted(steps)
