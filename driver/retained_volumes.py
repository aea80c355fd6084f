"""Whether a stack's state has retained volumes that are no longer declared: an update will be refused."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

_CLAIM = "kubernetes:core/v1:PersistentVolumeClaim"


def has_undeclared(export: dict[str, Any], declared: Collection[str]) -> bool:
    """Whether there is one. `export` is what `pulumi stack export` prints, `declared` are namespace/name."""
    resources = export["deployment"].get("resources") or []
    return any(one["type"] == _CLAIM and one.get("protect") and one["id"] not in declared for one in resources)
