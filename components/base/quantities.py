"""Kubernetes quantities: in canonical form, parsed, and formatted for users."""

import math
import re
from decimal import Decimal
from functools import cache

_SUFFIXES: dict[str, Decimal] = {
    "": Decimal(1),
    **{suffix: Decimal(1000) ** power for power, suffix in enumerate("num", -3)},
    **{suffix: Decimal(1000) ** power for power, suffix in enumerate("kMGTPE", 1)},
    **{f"{suffix}i": Decimal(1024) ** power for power, suffix in enumerate("KMGTPE", 1)},
}
_QUANTITY = re.compile(
    rf"([+-]?(?:[0-9]+[.]?[0-9]*|[.][0-9]+))(?:([eE][+-]?[0-9]+)|({'|'.join(filter(None, _SUFFIXES))}))?"
)

MIB = 1 << 20
GIB = 1 << 30
TIB = 1 << 40
MIB_PER_GIB = 1024
GIB_PER_TIB = 1024


def millicores(cores: float) -> int:
    """CPU cores in thousandths, rounded up."""
    return math.ceil(round(cores * 1000, 6))


def mebibytes(gib: float) -> int:
    """GiB in MiB, rounded up."""
    return math.ceil(round(gib * MIB_PER_GIB, 6))


def cpus(cores: float) -> str:
    """The quantity of CPU cores, rounded up to a thousandth."""
    milli = millicores(cores)
    return str(milli // 1000) if milli % 1000 == 0 else f"{milli}m"


def gibibytes(size: float) -> str:
    """The quantity of GiB, rounded up to a MiB."""
    mebi = mebibytes(size)
    if mebi == 0:
        return "0"
    return f"{mebi // MIB_PER_GIB}Gi" if mebi % MIB_PER_GIB == 0 else f"{mebi}Mi"


@cache
def exact(quantity: str) -> Decimal:
    """The number of a quantity: cores, bytes, devices."""
    found = _QUANTITY.fullmatch(quantity)
    if not found:
        raise ValueError(f"{quantity!r} is no quantity of Kubernetes")
    number, exponent, suffix = found.groups("")
    return Decimal(number + exponent) * _SUFFIXES[suffix]


def amount(quantity: str) -> float:
    """The number of a quantity, as a float."""
    return float(exact(quantity))


def size_bytes(quantity: str | None) -> int | None:
    """The bytes of a quantity; None where there is none."""
    return int(exact(quantity)) if quantity else None


def size(count: int | None) -> str:
    """Bytes for people: 1.5 GiB; a dash for none."""
    if count is None:
        return "-"
    for unit, length in (("TiB", TIB), ("GiB", GIB), ("MiB", MIB), ("KiB", 1 << 10)):
        if count >= length:
            return f"{count / length:.3g} {unit}" if count < 999.5 * length else f"{count / length:.0f} {unit}"
    return f"{count} B"
