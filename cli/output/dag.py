"""A graph in layers as a picture in SVG, such as steps that wait for others: what one waits for is left of it. Pure."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from statistics import fmean

from tensorplane.cli.output.escaping import visible

_WIDTH, _GAP, _BETWEEN, MARGIN = 240, 60, 18, 20
"""Of a box by default; between layers; between boxes of a layer; around all. In pixels."""
_HEAD, _LINE, _FOOT = 28, 17, 9
_LANE = 10
"""Height of the place of an arrow that passes a layer."""
_NAME_LETTERS, _LETTERS = 26, 34
"""Of a name and of a line in a box of that width; longer ones are shortened."""
_SWEEPS = 4
_GRAY, _TEXT, _DARK = "#57606a", "#424a53", "#1f2328"

_Pass = tuple[str, str]
"""An arrow from one box to another, where it passes a layer between them."""
_Slot = str | _Pass


@dataclass(frozen=True)
class Box:
    """A step."""

    name: str
    lines: Sequence[str] = ()
    after: Sequence[str] = ()
    """Names of the boxes that it waits for."""
    colors: tuple[str, str] = ("#f6f8fa", "#8c959f")
    """Of its fill and its border."""
    sign: str = ""
    """Before its name."""
    dashed: bool = False
    attributes: Mapping[str, str] | None = None
    """Of the group that draws it."""
    title: str = ""
    """Shown instead of its name."""
    more: Sequence[str] = ()
    """Further lines, which only the tooltip has room for."""


@dataclass(frozen=True)
class Drawing:
    """A part of a picture."""

    lines: tuple[str, ...]
    width: float
    height: float


@dataclass(frozen=True)
class _Frame:
    x: float
    y: float
    width: float
    height: float

    @property
    def right(self) -> float:
        return self.x + self.width

    @property
    def middle(self) -> float:
        return self.y + self.height / 2


def draw(boxes: Sequence[Box], *, top: float = 0, box_width: int = _WIDTH) -> Drawing:
    """The boxes and the arrows between them, from this height on. Names that no box has draw no arrow."""
    by_name = {box.name: box for box in boxes}
    columns = _ordered(_layers(by_name), by_name)
    frames, lanes = _layout(columns, by_name, top, box_width)
    arrows = [line for box in boxes for line in _arrows(box, frames, lanes)]
    drawn = [line for box in boxes for line in _box(box, frames[box.name])]
    width = MARGIN * 2 + len(columns) * (box_width + _GAP) - _GAP
    drawn_at = [*frames.values(), *itertools.chain(*lanes.values())]
    height = max((frame.y + frame.height for frame in drawn_at), default=top) - top
    return Drawing((*arrows, *drawn), width, height)


def document(title: str, lines: Sequence[str], width: float, height: float) -> str:
    """The picture with these lines."""
    size = f'viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" height="{height:.0f}"'
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="system-ui, \'DejaVu Sans\', sans-serif" '
        f'font-size="13" role="group" aria-label="{escape(title)}">'
    )
    arrow = (
        '<defs><marker id="to" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" orient="auto">'
        f'<path d="M0 0 L10 5 L0 10 z" fill="{_GRAY}"/></marker></defs>'
    )
    ground = f'<rect width="{width:.0f}" height="{height:.0f}" fill="#ffffff"/>'
    return "\n".join([head, f"<title>{escape(title)}</title>", arrow, ground, *lines, "</svg>", ""])


def heading(text: str, y: float) -> str:
    """A line of text above boxes."""
    return (
        f'<text x="{MARGIN}" y="{y:.0f}" font-size="15" font-weight="600" fill="{_DARK}">{escape(visible(text))}</text>'
    )


def _layers(boxes: Mapping[str, Box]) -> dict[str, int]:
    """How many boxes are before each, on the longest way."""
    found: dict[str, int] = {}
    for name in boxes:
        # Not recursive: a chain may be longer than Python's stack.
        way: dict[str, None] = {} if name in found else {name: None}
        while way:
            one = next(reversed(way))
            before = [each for each in boxes[one].after if each in boxes and each not in way]
            if (unknown := next((each for each in before if each not in found), None)) is not None:
                way[unknown] = None
            else:
                found[one] = 1 + max((found[each] for each in before), default=-1)
                del way[one]
    return found


def _ordered(layers: Mapping[str, int], boxes: Mapping[str, Box]) -> list[list[_Slot]]:
    """The slots of each column, with lanes for arrows that pass it; each is near what it is connected to."""
    columns: list[list[_Slot]] = [[] for _ in range(max(layers.values(), default=-1) + 1)]
    near: dict[_Slot, list[_Slot]] = {}
    for name, column in layers.items():
        columns[column].append(name)
    for name, box in boxes.items():
        for source in (each for each in box.after if each in boxes):
            passes = range(layers[source] + 1, layers[name])
            for column in passes:
                columns[column].append((source, name))
            lane: list[_Slot] = [(source, name)] if passes else []
            for left, right in zip([source, *lane], [*lane, name], strict=True):
                near.setdefault(left, []).append(right)
                near.setdefault(right, []).append(left)
    for _ in range(_SWEEPS):
        for column in (*range(1, len(columns)), *reversed(range(len(columns) - 1))):
            rank = {slot: index / len(each) for each in columns for index, slot in enumerate(each)}
            columns[column].sort(key=lambda slot: fmean([rank[one] for one in near.get(slot, [slot])]))
    return columns


def _layout(
    columns: Sequence[Sequence[_Slot]], boxes: Mapping[str, Box], top: float, width: int
) -> tuple[dict[str, _Frame], dict[_Pass, list[_Frame]]]:
    """Where each box is, and the lanes of each arrow from left to right."""
    sizes = [[_height(boxes[slot]) if isinstance(slot, str) else _LANE for slot in each] for each in columns]
    heights = [sum(each) + _BETWEEN * (len(each) - 1) for each in sizes]
    found: dict[str, _Frame] = {}
    lanes: dict[_Pass, list[_Frame]] = {}
    for column, (slots, own) in enumerate(zip(columns, sizes, strict=True)):
        y = top + (max(heights) - heights[column]) / 2
        for slot, height in zip(slots, own, strict=True):
            frame = _Frame(MARGIN + column * (width + _GAP), y, width, height)
            if isinstance(slot, str):
                found[slot] = frame
            else:
                lanes.setdefault(slot, []).append(frame)
            y += height + _BETWEEN
    return found, lanes


def _height(box: Box) -> float:
    return _HEAD + _LINE * len(_shown(box)) + _FOOT


def _shown(box: Box) -> list[str]:
    return [*box.lines, *(["…"] if box.more else [])]


def _arrows(box: Box, frames: Mapping[str, _Frame], lanes: Mapping[_Pass, Sequence[_Frame]]) -> Iterator[str]:
    from_the_left = {each: [frames[each], *lanes.get((each, box.name), ())] for each in box.after if each in frames}
    sources = sorted(from_the_left, key=lambda each: from_the_left[each][-1].middle)
    for index, source in enumerate(sources):
        end = frames[box.name]
        x, y = frames[source].right, frames[source].middle
        line = f"M{x:.0f} {y:.0f}"
        for lane in from_the_left[source][1:]:
            line += f"{_bend(x, y, lane.x, lane.middle)}H{lane.right:.0f}"
            x, y = lane.right, lane.middle
        line += _bend(x, y, end.x, end.y + end.height * (index + 1) / (len(sources) + 1))
        yield f'<path d="{line}" fill="none" stroke="{_GRAY}" stroke-width="1.5" marker-end="url(#to)"/>'


def _bend(x: float, y: float, to_x: float, to_y: float) -> str:
    half = (x + to_x) / 2
    return f"C{half:.0f} {y:.0f} {half:.0f} {to_y:.0f} {to_x:.0f} {to_y:.0f}"


def _box(box: Box, frame: _Frame) -> Iterator[str]:
    fill, stroke = box.colors
    more = "".join(f' {name}="{escape(visible(value))}"' for name, value in (box.attributes or {}).items())
    dashed = ' stroke-dasharray="5 3"' if box.dashed else ""
    tip = escape("\n".join(map(visible, [box.name, *box.lines, *box.more])))
    yield f"<g{more}><title>{tip}</title>"
    yield (
        f'<rect x="{frame.x:.0f}" y="{frame.y:.0f}" width="{frame.width:.0f}" height="{frame.height:.0f}" rx="6" '
        f'fill="{fill}" stroke="{stroke}"{dashed}/>'
    )
    x, y = frame.x + 10, frame.y + 20
    wider = frame.width / _WIDTH
    name = _short(box.sign + (box.title or box.name), round(_NAME_LETTERS * wider))
    letters = round(_LETTERS * wider)
    yield f'<text x="{x:.0f}" y="{y:.0f}" font-weight="600" fill="{_DARK}">{name}</text>'
    for index, line in enumerate(_shown(box)):
        down = frame.y + _HEAD + _LINE * index + 11
        yield f'<text x="{x:.0f}" y="{down:.0f}" font-size="12" fill="{_TEXT}">{_short(line, letters)}</text>'
    yield "</g>"


def _short(text: str, letters: int) -> str:
    shown = visible(text)
    return escape(shown if len(shown) <= letters else f"{shown[: letters - 1]}…")
