"""Figures of storage: what rounds come to, and that a file's speed is measured."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from bench import file_speed, snapshots
from bench.snapshot_rounds import Round

ROUNDS = [
    Round(small=0.002, large=0.0021, restore=0.003, copy=4.2, extra=1e-5),
    Round(small=0.004, large=0.004, restore=0.005, copy=4.0, extra=2e-5),
    Round(small=0.001, large=0.002, restore=0.004, copy=6.0, extra=1e-5),
]


def test_a_round_is_compared_with_itself() -> None:
    speed = snapshots.speed(ROUNDS)
    assert speed.value == pytest.approx(2000)
    assert speed.peer.startswith("copy of 2 GiB 4.2 s, snapshot 2.1 ms (95 % 1000 to 3000")
    assert snapshots.slope(ROUNDS).value == pytest.approx(1.05)
    assert snapshots.slope(ROUNDS).peer.startswith("2 GiB : 0.1 GiB")


def test_times_are_milliseconds_and_shares_percent() -> None:
    assert snapshots.restore(ROUNDS).value == pytest.approx(4)
    assert snapshots.extra(ROUNDS).value == pytest.approx(0.001)


def test_a_file_is_written_and_read(tmp_path: Path) -> None:
    text = Path(file_speed.__file__).read_text()
    for what in ("write", "read"):
        program = [sys.executable, "-c", text, what, str(tmp_path / "file"), "3"]
        assert float(subprocess.run(program, capture_output=True, text=True, check=True).stdout) > 0
    assert (tmp_path / "file").stat().st_size == 3 << 20
