"""Numbers as Kubernetes spells them, in the canonical form that the API server keeps, so that nothing differs later."""

import math


def millicores(cores: float) -> int:
    """CPU cores in thousandths, rounded up."""
    return math.ceil(round(cores * 1000, 6))


def mebibytes(gib: float) -> int:
    """GiB in MiB, rounded up."""
    return math.ceil(round(gib * 1024, 6))


def cpus(cores: float) -> str:
    """CPU cores, rounded up to a thousandth."""
    milli = millicores(cores)
    return str(milli // 1000) if milli % 1000 == 0 else f"{milli}m"


def gibibytes(size: float) -> str:
    """GiB, rounded up to a MiB."""
    mebi = mebibytes(size)
    if mebi == 0:
        return "0"
    return f"{mebi // 1024}Gi" if mebi % 1024 == 0 else f"{mebi}Mi"
