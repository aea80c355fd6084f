"""The driver's threads outlive what goes wrong in them, and say it once."""

from __future__ import annotations

import threading

import pytest

from tensorplane.embedded.csi import watching


def test_a_look_that_fails_is_tried_again(capsys: pytest.CaptureFixture[str]) -> None:
    ended, looks = threading.Event(), []

    def look() -> None:
        looks.append(1)
        if len(looks) == 1:
            raise OSError("gone for now")
        ended.set()

    watching.watch(look, 0.001, ended)
    assert len(looks) == 2
    assert "gone for now" in capsys.readouterr().err


def test_what_stays_wrong_is_said_once_and_again_when_it_comes_back(capsys: pytest.CaptureFixture[str]) -> None:
    complaint = watching.Complaint()
    for text in ("away", "away", "", "away", "refused"):
        complaint.say(text)
    assert capsys.readouterr().out.splitlines() == ["away", "away", "refused"]
