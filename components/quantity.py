"""Numbers as Kubernetes spells them, in the canonical form that the API server keeps, so that nothing differs later."""

import math


def cpus(cores: float) -> str:
    """CPU cores, rounded up to a thousandth."""
    milli = math.ceil(round(cores * 1000, 6))
    return str(milli // 1000) if milli % 1000 == 0 else f"{milli}m"


def gibibytes(size: float) -> str:
    """GiB, rounded up to a MiB."""
    mebi = math.ceil(round(size * 1024, 6))
    return f"{mebi // 1024}Gi" if mebi % 1024 == 0 else f"{mebi}Mi"
