"""What the engine's history says of a stack's last update."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any


def last_settings(history: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """The settings of the last update by section, without encrypted values; None if it failed, or there was none.

    `history`: what `pulumi stack history --json` prints, of which one update is enough.
    """
    if not history or history[0].get("result") != "succeeded":
        return None
    return {key.partition(":")[2]: _value(entry) for key, entry in (history[0].get("config") or {}).items()}


def _value(entry: Mapping[str, Any] | None) -> Any:
    """The value of a setting, of which the history has maps as JSON."""
    text = (entry or {}).get("value")
    try:
        return json.loads(text) if text is not None else {}
    except ValueError:
        return text
