"""Parts of GPUs that pods request by annotations, as KAI Scheduler and Run:ai read them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from gpu_usage.manifest import UNKNOWN, Path, UncountableError, dotted, number, unknown

_PARTS = ("gpu-fraction", "gpu-memory")
_DEVICES = "gpu-fraction-num-devices"


def requested(annotations: Mapping[str, Any], path: Path) -> int:
    """GPUs of a pod with these annotations: each part is of a GPU of its own, unless it is of several."""
    most = max((_whole(annotations[key], (*path, key)) for key in _PARTS if key in annotations), default=0)
    return most * max(1, number(annotations, _DEVICES, 1, path)) if most else 0


def _whole(amount: Any, path: Path) -> int:
    """GPUs that have such a part. A note in words, such as `16Gi`, requests none: the schedulers refuse it."""
    if amount is UNKNOWN:
        raise unknown(path)
    if isinstance(amount, str) and "{{" in amount:
        raise UncountableError(f"`{dotted(path)}` is filled in later", "write it as a plain number")
    try:
        part = float(amount)
    except (TypeError, ValueError, OverflowError):
        return 0
    if not 0 <= part < math.inf:
        raise UncountableError(f"`{dotted(path)}` is not a number of 0 or more", "write it as a plain number")
    # A size in MiB is a part of one GPU.
    return math.ceil(part) if path[-1] == "gpu-fraction" else int(part > 0)
