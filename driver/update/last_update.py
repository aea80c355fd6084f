"""What a stack's last update left: its settings in the engine's history, its outputs in the state."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any


def settings(history: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """The settings of the last update by section, without encrypted values; None if it failed, or there was none.

    `history`: what `pulumi stack history --json` prints, of which one update is enough.
    """
    if not history or history[0].get("result") != "succeeded":
        return None
    return {key.partition(":")[2]: _value(entry) for key, entry in (history[0].get("config") or {}).items()}


def outputs(resources: Iterable[Mapping[str, Any]]) -> Mapping[str, Any]:
    """The outputs of a stack, by the resources in its state; empty if it has none."""
    of_stack = (each for each in resources if each.get("type") == "pulumi:pulumi:Stack")
    return next((each.get("outputs") or {} for each in of_stack), {})


def _value(entry: Mapping[str, Any] | None) -> Any:
    """The value of a setting, of which the history has maps as JSON."""
    text = (entry or {}).get("value")
    try:
        return json.loads(text) if text is not None else {}
    except ValueError:
        return text
