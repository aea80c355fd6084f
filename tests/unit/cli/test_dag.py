"""The picture of steps that wait for others: what a step waits for is left of it, and nothing overlaps."""

from __future__ import annotations

import itertools
import re
import xml.etree.ElementTree as ElementTree

from hypothesis import given
from hypothesis import strategies as st

from tensorplane.cli.output import dag
from tensorplane.cli.output.dag import Box

_SVG = "{http://www.w3.org/2000/svg}"
_Rectangle = tuple[float, float, float, float]


@st.composite
def _boxes(draw: st.DrawFn) -> list[Box]:
    number = draw(st.integers(1, 9))
    return [
        Box(
            f"s{index}",
            ["a line"] * draw(st.integers(0, 3)),
            [f"s{before}" for before in range(index) if draw(st.booleans())],
        )
        for index in range(number)
    ]


def _drawn(boxes: list[Box]) -> tuple[dict[str, _Rectangle], list[str]]:
    """Left, top, right and bottom of each box, and the arrows' ways."""
    drawn = dag.draw(boxes)
    root = ElementTree.fromstring(dag.document("Stages", drawn.lines, drawn.width, drawn.height))
    places = {}
    for group in root.iter(f"{_SVG}g"):
        (rectangle,) = group.iter(f"{_SVG}rect")
        x, y, width, height = (float(rectangle.attrib[key]) for key in ("x", "y", "width", "height"))
        name = next(group.iter(f"{_SVG}title")).text or ""
        places[name.splitlines()[0]] = (x, y, x + width, y + height)
    return places, [path.attrib["d"] for path in root.iter(f"{_SVG}path") if path.get("marker-end")]


@given(_boxes())
def test_what_a_step_waits_for_is_left_of_it_and_boxes_do_not_overlap(boxes: list[Box]) -> None:
    places, arrows = _drawn(boxes)
    assert set(places) == {box.name for box in boxes}
    assert len(arrows) == sum(len(box.after) for box in boxes)
    for box in boxes:
        assert all(places[before][2] < places[box.name][0] for before in box.after)
    for one, other in itertools.combinations(places.values(), 2):
        apart = one[2] <= other[0] or other[2] <= one[0] or one[3] <= other[1] or other[3] <= one[1]
        assert apart, (one, other)


@given(_boxes())
def test_an_arrow_that_passes_a_column_runs_through_no_box_of_it(boxes: list[Box]) -> None:
    places, arrows = _drawn(boxes)
    for arrow in arrows:
        # What is drawn straight ahead is where the arrow passes a column.
        for y, right in re.findall(r" (\d+)H(\d+)", arrow):
            inside = [place for place in places.values() if place[0] < float(right) <= place[2]]
            assert all(not place[1] < float(y) < place[3] for place in inside)


def test_boxes_that_wait_for_each_other_are_drawn_all_the_same() -> None:
    places, _ = _drawn([Box("a", after=["b"]), Box("b", after=["a"]), Box("c", after=["nothing"])])
    assert set(places) == {"a", "b", "c"}


def test_a_chain_may_be_longer_than_the_stack() -> None:
    places, arrows = _drawn([Box(f"s{index}", after=[f"s{index + 1}"]) for index in range(600)])
    assert (len(places), len(arrows)) == (600, 599)


def test_names_cannot_break_out_of_their_text_or_attribute() -> None:
    box = Box('<b>&"', ["<i>"], attributes={"data-stage": '"><script>'})
    drawn = dag.draw([box])
    root = ElementTree.fromstring(dag.document('"<', drawn.lines, drawn.width, drawn.height))
    (group,) = root.iter(f"{_SVG}g")
    assert group.attrib["data-stage"] == '"><script>'
    assert [text.text for text in group.iter(f"{_SVG}text")] == ['<b>&"', "<i>"]
