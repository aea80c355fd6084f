"""Workloads that an update moves to another volume."""

from __future__ import annotations

from cli.commands.preview import mounts
from cli.commands.preview.report import Change, Components, Property, Report

NEW: Components = {"tensorplane:index:Volume": {"weights": ({}, {"sizeGib": 1})}}


def _workload(name: str, *claims: tuple[str, str]) -> Change:
    path = "spec.template.spec.volumes[{}].persistentVolumeClaim.claimName"
    properties = (Property(path.format(i), f'"{old}"', f'"{new}"', False) for i, (old, new) in enumerate(claims))
    return Change("update", "apps/v1:Deployment", name, tuple(properties))


def test_workloads_that_move_to_a_new_volume_are_told_that_it_is_empty() -> None:
    # The volumes of a pod are sorted by name, so that another name moves its neighbours.
    digits = _workload("digits", ("models", "scratch"), ("scratch", "weights"))
    (line,) = mounts.lines(Report("prod", (digits, _workload("server", ("models", "weights"))), components=NEW))
    assert line.startswith(
        "**digits**, **server** mount volume **weights** instead of **models**. weights is new, and empty"
    )


def test_a_volume_that_was_there_is_not_called_empty() -> None:
    (line,) = mounts.lines(Report("prod", (_workload("server", ("models", "weights")),)))
    assert line == "**server** mounts volume **weights** instead of **models**"


def test_volumes_in_another_order_are_the_same_volumes() -> None:
    assert mounts.lines(Report("prod", (_workload("digits", ("a", "b"), ("b", "a")),))) == []
