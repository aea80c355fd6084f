"""The stack as a picture: node groups, queues, workloads and volumes as boxes, and what the update does to each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from xml.sax.saxutils import escape

from tensorplane.cli.commands.preview.report import Outputs, Report
from tensorplane.cli.output.escaping import visible
from tensorplane.cli.output.numbers import count, span

_WIDTH, _MARGIN, _LABEL = 1000, 20, 110
_BOX, _BOX_HEIGHT, _GAP, _LAYER_GAP = 200, 50, 16, 44
_PER_ROW = (_WIDTH - 2 * _MARGIN - _LABEL + _GAP) // (_BOX + _GAP)
_MOST_BOXES = 3 * _PER_ROW
"""Boxes of a layer that are drawn; changed ones come first, and a last box counts the others."""
_MOST_BOX_CHARACTERS = 26
"""Characters that fit into a box."""
_TIMES = "×"  # noqa: RUF001 (what stands between counts)
_STYLES = {
    "create": ("#e6f4ea", "#1a7f37", "+ "),
    "delete": ("#ffebe9", "#cf222e", "− "),  # noqa: RUF001 (a minus of the width of the plus)
    "update": ("#fff8c5", "#9a6700", "± "),
    "same": ("#f6f8fa", "#8c959f", ""),
}
_LEGEND = (("create", "new"), ("update", "changed"), ("delete", "deleted"), ("same", "unchanged"))


@dataclass(frozen=True)
class Box:
    """One component."""

    name: str
    detail: str
    operation: str
    above: tuple[str, ...] = ()
    """Names of the boxes in the layer above that use it."""


@dataclass(frozen=True)
class Layer:
    """The components of one kind."""

    label: str
    boxes: tuple[Box, ...]
    hidden: int = 0
    corners: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Top left corner of each box."""


def svg(report: Report) -> str:
    """The picture as SVG; empty if the stack has no components to draw."""
    layers = [layer for layer in _layers(report) if layer.boxes]
    if not layers:
        return ""
    bottom = _placed(layers)
    body = [*_edges(layers), *(line for layer in layers for line in _drawn(layer)), *_legend(bottom)]
    height = bottom + 40
    title = f"Stack {report.stack}: what it has, and what this update changes"
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" height="{height}" '
        'font-family="system-ui, sans-serif" font-size="13">'
    )
    background = f'<rect width="{_WIDTH}" height="{height}" fill="#ffffff"/>'
    return "\n".join([head, f"<title>{escape(title)}</title>", background, *body, "</svg>", ""])


def _layers(report: Report) -> list[Layer]:
    queues = report.registered("Queue")
    used = {
        name: [queue for queue, both in queues.items() if _uses(both, group)]
        for name, group in report.registered("NodeGroup").items()
    }
    asking: dict[str, list[str]] = {}
    workloads = {kind: report.registered(kind) for kind in ("TrainingJob", "Sweep", "Notebook")}
    for kind in workloads.values():
        for name, (old, new) in kind.items():
            asking.setdefault(str((new or old).get("queue")), []).append(name)
    pipelines = report.registered("Pipeline")
    for name, (old, new) in pipelines.items():
        for queue in sorted({stage["queue"] for stage in (new or old).get("dag", {}).values()}):
            asking.setdefault(queue, []).append(name)
    servers = {kind: report.registered(kind) for kind in ("ModelServer", "Scorer", "TensorBoard")}
    of_workloads = [
        _box(name, both, _pods(both))
        for kind in (*workloads.values(), *servers.values())
        for name, both in kind.items()
    ]
    of_workloads += [_box(name, both, _stages(both)) for name, both in pipelines.items()]
    return [
        _layer("workloads", of_workloads),
        _layer("queues", [_box(name, both, _quota(both), asking.get(name, ())) for name, both in queues.items()]),
        _layer(
            "node groups",
            [_box(name, both, _nodes(both), used[name]) for name, both in report.registered("NodeGroup").items()],
        ),
        _layer("volumes", [_box(name, both, _size(both)) for name, both in report.registered("Volume").items()]),
    ]


def _layer(label: str, boxes: Sequence[Box]) -> Layer:
    ordered = sorted(boxes, key=lambda box: (box.operation == "same", box.name))
    shown = ordered if len(ordered) <= _MOST_BOXES else ordered[: _MOST_BOXES - 1]
    return Layer(label, tuple(shown), len(ordered) - len(shown))


def _box(name: str, both: tuple[Outputs, Outputs], detail: str, above: Sequence[str] = ()) -> Box:
    old, new = both
    operation = "create" if not old else "delete" if not new else "same" if old == new else "update"
    return Box(name, detail, operation, tuple(above))


def _uses(queue: tuple[Outputs, Outputs], group: tuple[Outputs, Outputs]) -> bool:
    """Whether the queue has quota on the group's accelerator; a queue of cores alone uses groups without one."""
    of_queue, of_group = queue[1] or queue[0], group[1] or group[0]
    labels: Mapping[str, str] = of_group.get("labels") or {}
    names = {of_group.get("accelerator"), *labels.values()}
    return any(one["name"] in names and one["guaranteed"] + one["borrowable"] > 0 for one in of_queue.get("kinds", ()))


def _changed(before: str, after: str) -> str:
    return " → ".join(dict.fromkeys(filter(None, (before, after))))


def _nodes(both: tuple[Outputs, Outputs]) -> str:
    numbers = _changed(*(span((group["minNodes"], group["maxNodes"])) if group else "" for group in both))
    machines = _changed(*(_machine(group) if group else "" for group in both))
    return f"{numbers} {_TIMES} {machines}" if machines else f"{numbers} nodes"


def _machine(group: Outputs) -> str:
    devices, most = group["gpusMax"] + group["tpusMax"], group["maxNodes"]
    return f"{int(devices // most)} {group['accelerator']}" if devices and most else group.get("machine") or ""


def _quota(both: tuple[Outputs, Outputs]) -> str:
    old, new = (_of_quota(queue) if queue else "" for queue in both)
    return _changed(old, new)


def _of_quota(queue: Outputs) -> str:
    gpus = count(queue.get("gpus", 0))
    return f"{queue['priority']}, {gpus} GPUs" if queue.get("gpus") else f"{queue['priority']}, no GPUs"


def _pods(both: tuple[Outputs, Outputs]) -> str:
    return _changed(*(_of_pods(workload) if workload else "" for workload in both))


def _of_pods(workload: Outputs) -> str:
    pods = workload.get("pods", workload.get("replicas", 1))
    text = f"{pods:g} pod{'' if pods == 1 else 's'}"
    return f"{text}, {workload['gpus']:g} GPUs" if workload.get("gpus") else text


def _stages(both: tuple[Outputs, Outputs]) -> str:
    return _changed(*(_of_pipeline(pipeline) if pipeline else "" for pipeline in both))


def _of_pipeline(pipeline: Outputs) -> str:
    number = len(pipeline["stages"])
    text = f"{number} stage{'' if number == 1 else 's'}"
    return f"{text}, {pipeline['gpus']:g} GPUs" if pipeline.get("gpus") else text


def _size(both: tuple[Outputs, Outputs]) -> str:
    old, new = (f"{volume['sizeGib']:g} GiB" if volume else "" for volume in both)
    return f"{_changed(old, new)}, {(both[1] or both[0])['backend']}"


def _placed(layers: Sequence[Layer]) -> int:
    """Places the boxes of each layer; returns the lower end of the last one."""
    top = _MARGIN
    for layer in layers:
        total = len(layer.boxes) + bool(layer.hidden)
        for index, box in enumerate(layer.boxes):
            row, column = divmod(index, _PER_ROW)
            left = _MARGIN + _LABEL + column * (_BOX + _GAP)
            layer.corners[box.name] = (left, top + row * (_BOX_HEIGHT + _GAP))
        rows = -(-total // _PER_ROW)
        top += rows * (_BOX_HEIGHT + _GAP) - _GAP + _LAYER_GAP
    return top - _LAYER_GAP


def _edges(layers: Sequence[Layer]) -> Iterator[str]:
    corners = {layer.label: layer.corners for layer in layers}
    for above, below in (("workloads", "queues"), ("queues", "node groups")):
        for box in next((layer.boxes for layer in layers if layer.label == below), ()):
            for name in box.above:
                if name in corners.get(above, {}):
                    yield _edge(corners[above][name], corners[below][box.name])


def _edge(start: tuple[int, int], end: tuple[int, int]) -> str:
    x, y, to, down = start[0] + _BOX // 2, start[1] + _BOX_HEIGHT, end[0] + _BOX // 2, end[1]
    middle = (y + down) // 2
    return f'<path d="M{x} {y}C{x} {middle} {to} {middle} {to} {down}" fill="none" stroke="#8c959f"/>'


def _drawn(layer: Layer) -> Iterator[str]:
    _, top = next(iter(layer.corners.values()))
    yield f'<text x="{_MARGIN}" y="{top + _BOX_HEIGHT // 2 + 5}" fill="#57606a">{layer.label}</text>'
    for box in layer.boxes:
        yield from _of_box(box, *layer.corners[box.name])
    if layer.hidden:
        row, column = divmod(len(layer.boxes), _PER_ROW)
        left = _MARGIN + _LABEL + column * (_BOX + _GAP)
        below = top + row * (_BOX_HEIGHT + _GAP) + _BOX_HEIGHT // 2 + 5
        yield f'<text x="{left}" y="{below}" fill="#57606a">and {layer.hidden} more</text>'


def _of_box(box: Box, left: int, top: int) -> Iterator[str]:
    fill, stroke, sign = _STYLES[box.operation]
    dashed = ' stroke-dasharray="5 3"' if box.operation == "delete" else ""
    yield (
        f'<rect x="{left}" y="{top}" width="{_BOX}" height="{_BOX_HEIGHT}" rx="6" '
        f'fill="{fill}" stroke="{stroke}"{dashed}/>'
    )
    yield f'<text x="{left + 10}" y="{top + 20}" font-weight="600" fill="#1f2328">{_short(sign + box.name)}</text>'
    yield f'<text x="{left + 10}" y="{top + 39}" fill="#57606a">{_short(box.detail)}</text>'


def _short(text: str) -> str:
    shown = visible(text)
    return escape(shown if len(shown) <= _MOST_BOX_CHARACTERS else f"{shown[: _MOST_BOX_CHARACTERS - 1]}…")


def _legend(top: int) -> Iterator[str]:
    for index, (operation, word) in enumerate(_LEGEND):
        fill, stroke, sign = _STYLES[operation]
        left = _MARGIN + _LABEL + index * 130
        yield f'<rect x="{left}" y="{top + 20}" width="14" height="14" rx="3" fill="{fill}" stroke="{stroke}"/>'
        yield f'<text x="{left + 22}" y="{top + 32}" fill="#57606a">{escape(sign)}{word}</text>'
