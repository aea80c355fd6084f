"""Workloads that an update moves to another volume, and what they lack there."""

from __future__ import annotations

import pytest

from tensorplane.cli.commands.preview import mounts
from tensorplane.cli.commands.preview.pods import Pods
from tensorplane.cli.commands.preview.report import Components, Report
from tensorplane.cli.output.escaping import line as shown

NEW: Components = {"tensorplane:index:Volume": {"weights": ({}, {"sizeGib": 1})}}
JOB, SERVER = "tensorplane:index:TrainingJob", "tensorplane:index:ModelServer"

Moved = tuple[Pods, Pods]


def _workload(kind: str, name: str, old: tuple[str, ...], new: tuple[str, ...]) -> Moved:
    volumes = ([{"persistentVolumeClaim": {"claimName": claim}} for claim in claims] for claims in (old, new))
    before, after = (Pods(kind, name, name, spec={"volumes": each}) for each in volumes)
    return before, after


def _report(*moved: Moved, components: Components | None = None, starts: str = "") -> Report:
    before, after = zip(*moved, strict=True)
    return Report("prod", components=components or {}, pods_before=before, pods_after=after, starts={"weights": starts})


DIGITS = _workload(JOB, "digits", ("models", "scratch"), ("scratch", "weights"))
SERVED = _workload(SERVER, "server", ("models",), ("weights",))


def test_workloads_that_move_to_a_new_empty_volume_break() -> None:
    report = _report(DIGITS, SERVED, components=NEW)
    (line,) = map(shown, mounts.lines(report))
    says = "**digits**, **server** mount volume **weights** instead of **models**. weights is new and starts empty"
    assert line == says
    assert mounts.broken(report) == [
        "on volume weights, which is new and empty, training job digits finds no checkpoint to resume from, "
        "and model server server no model to load"
    ]
    (lost,) = mounts.lost(report)
    assert lost.startswith("volume weights takes the place of models, and starts empty: what is on models is not moved")


def test_a_volume_that_starts_with_a_copy_breaks_nothing() -> None:
    report = _report(SERVED, components=NEW, starts="a copy of volume models")
    (line,) = map(shown, mounts.lines(report))
    assert line.endswith("weights is new and starts with a copy of volume models")
    assert [*mounts.broken(report), *mounts.lost(report)] == []


def test_a_volume_that_was_there_is_not_called_empty() -> None:
    report = _report(SERVED)
    assert list(map(shown, mounts.lines(report))) == ["**server** mounts volume **weights** instead of **models**"]
    assert mounts.broken(report) == []


@pytest.mark.parametrize("new", [("b", "a"), ("a", "b", "c"), ("a",)])
def test_volumes_in_another_order_added_or_gone_take_no_place(new: tuple[str, ...]) -> None:
    assert mounts.lines(_report(_workload(JOB, "digits", ("a", "b"), new))) == []
