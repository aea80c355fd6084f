"""The picture of a stack: valid SVG with a box for each component, and the changed ones first."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from typing import Any

from tensorplane.cli.commands.preview import picture
from tensorplane.cli.commands.preview.report import Report

MINUS = "\N{MINUS SIGN}"
_SVG = "{http://www.w3.org/2000/svg}"


def _volumes(**both: tuple[float, float]) -> Report:
    """Volumes of these sizes before and after; 0: there is none."""
    found = {name: (_volume(before), _volume(after)) for name, (before, after) in both.items()}
    return Report("dev", components={"tensorplane:index:Volume": found})


def _volume(size: float) -> dict[str, Any]:
    return {"sizeGib": size, "backend": "nfs"} if size else {}


def _texts(report: Report) -> list[str]:
    return [element.text or "" for element in ElementTree.fromstring(picture.svg(report)).iter(f"{_SVG}text")]


def test_each_component_is_a_box_that_shows_what_becomes_of_it() -> None:
    texts = _texts(_volumes(a=(1, 1), b=(0, 2), c=(1, 2), d=(3, 0)))
    assert texts[:9] == [
        "volumes", "+ b", "2 GiB, nfs", "± c", "1 GiB → 2 GiB, nfs", f"{MINUS} d", "3 GiB, nfs", "a", "1 GiB, nfs",
    ]  # fmt: skip


def test_names_cannot_break_out_of_their_text() -> None:
    assert "+ <b>&" in _texts(_volumes(**{"<b>&": (0, 1)}))


def test_of_many_boxes_the_changed_ones_are_drawn_and_the_others_counted() -> None:
    texts = _texts(_volumes(**{f"v{index:03}": (1, 1) for index in range(100)}, z=(1, 2)))
    assert texts[1] == "± z"
    assert "and 90 more" in texts


def test_a_stack_without_components_has_no_picture() -> None:
    assert picture.svg(Report("dev")) == ""
