"""Fields of operators for a number of accelerators, such as `resources.limits.gpu`: their resources have no prefix."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from gpu_usage.manifest import UNKNOWN, Path, unknown

_DEVICE = r"(v|p|nvidia|amd|intel)?(gpu|tpu|npu|hpu|gaudi|accelerator)s?"
_NAME = re.compile(
    rf"((num(ber)?|count|n|requested)(of)?)?{_DEVICE}"
    r"(count|num(ber)?|quantity|limits?|requests?|replicas|devices?|devicesrequests?|per(node|worker|replica|pod|task)"
    r"|portion|portionrequest|fraction)?",
    re.IGNORECASE,
)


def asks(value: Mapping[str, Any], path: Path) -> bool:
    """Whether a map of a custom resource has such a field, above 0: alone, or as Run:ai's `{value: 2}`."""
    return any(_is_some(inner, (*path, key)) for key, inner in value.items() if _NAME.fullmatch(_letters(key)))


def _letters(key: str) -> str:
    return key.replace("-", "").replace("_", "")


def _is_some(amount: Any, path: Path) -> bool:
    if isinstance(amount, dict) and amount.keys() == {"value"}:
        return _is_some(amount["value"], (*path, "value"))
    if amount is UNKNOWN:
        raise unknown(path)
    if isinstance(amount, bool) or not isinstance(amount, int | float | str):
        return False
    try:
        return float(amount) > 0
    except ValueError:
        return "{{" in str(amount)
