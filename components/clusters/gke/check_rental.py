"""Consumption options of Google's newest machines: not on demand, and some not as spot or not reserved."""

from collections.abc import Iterator, Mapping

from components.base.problems import Problem
from components.node_groups.shape import Shape

# cloud.google.com/compute/docs/accelerator-optimized-machines, the notes of each series. Flex-start, for
# at most a week, is omitted, because node groups are permanent.
_RENTED: Mapping[str, tuple[str, ...]] = {
    "a3-highgpu-1g": ("spot",),
    "a3-highgpu-2g": ("spot",),
    "a3-highgpu-4g": ("spot",),
    "a3-ultragpu-8g": ("spot", "reserved"),
    "a4-highgpu-8g": ("spot", "reserved"),
    "a4x-highgpu-4g": ("reserved",),
}
_NEEDED = {"spot": "spot: true", "reserved": "a reservation in `reserved`"}


def find_problems(groups: Mapping[str, Shape]) -> Iterator[Problem]:
    """A problem for each group whose machines are not available with its consumption option."""
    for name, shape in groups.items():
        ways = _RENTED.get(shape.machine.name) if shape.machine else None
        rented = "reserved" if shape.args.reserved else "spot" if shape.args.spot else "on demand"
        if ways and shape.machine and rented not in ways:
            key = "reserved" if rented == "reserved" else "spot"
            options = " or ".join(_NEEDED[way] for way in ways)
            yield Problem(
                ("nodeGroups", name, key), f"{shape.machine.name} is not available {_as(rented)}; use {options}"
            )


def _as(way: str) -> str:
    return "as spot" if way == "spot" else way
