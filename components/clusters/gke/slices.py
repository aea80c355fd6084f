"""TPU slices: chips of several interconnected machines, which start and stop together."""

import math
import re

from tensorplane.components.node_groups.shape import Shape

_TOPOLOGY = re.compile(r"\d+(x\d+){1,2}")
_FLAT = ("1x1", "2x2", "2x4", "4x4", "4x8", "8x8", "8x16", "16x16")
_SMALL_CUBES = ("2x2x1", "2x2x2", "2x2x4", "2x4x4", "4x4x4")
_SIDE = 4
CHIPS_OF_SLICE_MACHINES = 4


def machines(shape: Shape) -> int:
    """Number of machines of the group's slice; 1 for a single-host slice."""
    return _chips(shape.args.topology) // shape.per_node if shape.args.topology else 1


def joins(shape: Shape) -> bool:
    """Whether the machine's chips can be part of a multi-host slice; those of TPU devices cannot."""
    return not (shape.machine and (shape.machine.cloud_accelerator or "").endswith("-device"))


def is_topology(topology: str, like: str) -> bool:
    """Whether TPUs with this number of dimensions support such a slice. `like`: the topology of one machine."""
    if not _TOPOLOGY.fullmatch(topology):
        return False
    if like.count("x") == 1:
        return topology in _FLAT
    sides = [int(side) for side in topology.split("x")]
    regular = len(sides) == 3 and sides == sorted(sides) and all(side and side % _SIDE == 0 for side in sides)
    return topology in _SMALL_CUBES or regular


def examples(like: str) -> tuple[str, ...]:
    """Topologies for suggestions."""
    return _FLAT if like.count("x") == 1 else (*_SMALL_CUBES, "4x4x8")


def _chips(topology: str) -> int:
    return math.prod(int(side) for side in topology.split("x"))
