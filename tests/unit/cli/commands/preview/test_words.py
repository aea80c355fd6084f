"""Changes in the words of a review: one line for each component, and no secret in any."""

from __future__ import annotations

from typing import Any

import pytest

from tensorplane.cli.commands.preview import words
from tensorplane.cli.commands.preview.report import Report
from tensorplane.cli.commands.preview.sections import in_words
from tensorplane.cli.output.escaping import line as shown
from tests.hosts.preview_events import group, queue

T4 = group("t4", "g4dn.xlarge", (0, 20), gpusMax=20, hourlyUsdMax=10.5)


def _lines(kind: str, old: Any, new: Any) -> list[str]:
    return list(map(shown, words.lines(Report("dev", components={f"tensorplane:index:{kind}": {"a": (old, new)}}))))


@pytest.mark.parametrize(
    ("kind", "old", "new", "says"),
    [
        ("NodeGroup", T4, {**T4, "maxNodes": 21, "gpusMax": 21, "hourlyUsdMax": 11.025},
         "node group **a**: 1 more t4 node at most (20 → 21), +$0.53/h at most"),
        ("NodeGroup", {**T4, "minNodes": 2}, T4, "node group **a**: 2 fewer t4 nodes always running (2 → 0)"),
        ("NodeGroup", T4, {**T4, "spot": True, "hourlyUsdMax": None},
         "node group **a**: on spot nodes, which the cloud can take back, price unknown"),
        ("NodeGroup", {}, T4, "new node group **a**: 20 more nodes at most (g4dn.xlarge, 1 t4 each), "
         "+$10.50/h at most"),
        ("NodeGroup", T4, {}, "node group **a** is deleted: 20 fewer nodes at most (g4dn.xlarge, 1 t4 each), "
         "-$10.50/h at most"),
        ("Queue", queue("low", {"t4": (4, 0, 4)}), queue("high", {"t4": (4, 2, 4)}, "vision"),
         "queue **a**: borrowable t4 0 → 2 of 8, priority low → high, teams none → vision"),
        ("Volume", {"sizeGib": 1, "backend": "nfs", "retain": True}, {"sizeGib": 2, "backend": "nfs", "retain": False},
         "volume **a**: size 1 → 2 GiB, retain true → false: Pulumi (protect: true → false) no longer refuses it: "
         "a later update may delete it"),
        ("Queue", queue("low", {"t4": (4, 0, 4)}, "vision"), queue("low", {"t4": (8, 0, 4)}, "vision"),
         "queue **a**: guaranteed t4 4 → 8 of 8, teams vision"),
        ("Volume", {"sizeGib": 1, "backend": "nfs", "retain": True}, {},
         "volume **a** is deleted: 1 GiB, once it is no longer protected"),
        ("Volume", {"sizeGib": 1, "backend": "nfs", "retain": False}, {}, "volume **a** is deleted: 1 GiB"),
        ("TrainingJob", {"pods": 2, "memoryGib": 16}, {"pods": 2, "memoryGib": 32},
         "training job **a**: memory 16 → 32 GiB (all 2 pods together)"),
        ("ModelServer", {"serves": {"m": "the newest version"}}, {"serves": {"m": "version 3, pinned"}},
         "model server **a**: serves m: the newest version → version 3, pinned"),
    ],
)  # fmt: skip
def test_a_change_is_one_line_in_the_terms_of_the_settings(kind: str, old: Any, new: Any, says: str) -> None:
    assert _lines(kind, old, new) == [says]


def test_a_terminal_shows_names_in_bold_without_the_stars_of_markdown() -> None:
    report = Report("dev", components={"tensorplane:index:Volume": {"a": ({}, {"sizeGib": 1, "backend": "nfs"})}})
    (line,) = in_words.terminal(report, 80)
    assert line.plain == "new volume a: 1 GiB"
    assert [line.plain[span.start : span.end] for span in line.spans] == ["a"]


def test_what_changes_without_words_or_not_at_all_has_no_line() -> None:
    assert _lines("Queue", queue("low", {}), {**queue("low", {}), "gpus": 0}) == []
    assert _lines("TrainingJob", {"pods": 1, "extra": 1}, {"pods": 1, "extra": 2}) == []


def test_a_new_volume_with_the_settings_of_a_deleted_one_is_called_empty() -> None:
    volume = {"sizeGib": 1, "backend": "nfs"}
    report = Report("dev", components={"tensorplane:index:Volume": {"old": (volume, {}), "new": ({}, volume)}})
    deleted, made = map(shown, words.lines(report))
    assert deleted.endswith("New volume new has the same settings, but a rename does not move data")
    assert made == "new volume **new**: 1 GiB"
