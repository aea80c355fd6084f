"""The library's lines in words: what `make up` shows while it follows a job."""

from __future__ import annotations

import pytest

from tensorplane.driver.runs import log_line

_REPORT = "tensorplane: step=150 loss=0.242167 steps_per_second=51.1 percent=25.0 eta_seconds=9"
_IN_WORDS = "step 150 (25 %), loss 0.242167, 51.1 steps/s, 9 s left"


@pytest.mark.parametrize(
    ("lines", "shown"),
    [
        ([], ""),
        (["Epoch 1/5"], "Epoch 1/5"),
        ([_REPORT], _IN_WORDS),
        # A checkpoint's line does not hide the progress, a line of the user's program does.
        ([_REPORT, "tensorplane: saved=150"], _IN_WORDS),
        ([_REPORT, "evaluating"], "evaluating"),
        (["tensorplane: workers=2 step=0 resumed=False"], "tensorplane: workers=2 step=0 resumed=False"),
        # What TensorFlow itself says hides nothing, unless it is an error.
        ([_REPORT, "I0000 00:00:1764.1 9 port.cc:153] oneDNN custom operations are on."], _IN_WORDS),
        ([_REPORT, "2026-12-01 06:00:00.123456: I tensorflow/core/util/port.cc:113] oneDNN"], _IN_WORDS),
        (["WARNING: All log messages before absl::InitializeLog() is called are written to STDERR"], ""),
        ([_REPORT, "E0000 00:00:1764.1 9 cuda.cc:1] no device"], "E0000 00:00:1764.1 9 cuda.cc:1] no device"),
        # Of a run without a known end, and of the library's earlier versions.
        (["tensorplane: step=7 loss=1.0 steps_per_second=2.0"], "step 7, loss 1.0, 2.0 steps/s"),
        (["tensorplane: step=7 steps_per_second=2.0 percent=100.0 eta_seconds=0"], "step 7 (100 %), 2.0 steps/s"),
        (["tensorplane: step=7 steps_per_second=2.0 eta_seconds=100"], "step 7, 2.0 steps/s, 100 s left"),
        (["tensorplane: step=7 steps_per_second=2.0 eta_seconds=7300"], "step 7, 2.0 steps/s, 2 h left"),
    ],
)
def test_the_newest_progress_is_shown_in_words(lines: list[str], shown: str) -> None:
    assert log_line.newest(lines) == shown


def test_quoted_values_are_read_whole() -> None:
    assert log_line.parse(r'tensorplane: a="b c=\"d\"" e=f') == {"a": 'b c="d"', "e": "f"}
