"""Objects of Kubernetes' API, and their times as Python's."""

from __future__ import annotations

from datetime import datetime
from typing import Any

Object = dict[str, Any]
"""An object of the API as JSON."""


def moment(text: str | None) -> datetime | None:
    """A time, such as metadata.creationTimestamp."""
    return datetime.fromisoformat(text) if text else None
