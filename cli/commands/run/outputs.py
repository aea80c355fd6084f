"""Where a job keeps its model, checkpoints and event files if its settings do not say. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def placed(name: str, settings: Mapping[str, Any], team: str | None) -> dict[str, Any]:
    """A job's settings with folders on the first volume that its pods may write to.

    A team's are below a folder of the team: with the same name and files, jobs of others have the same runs, and would
    resume from its checkpoints. Folders that the settings name stay.
    """
    found, below = dict(settings), f"{team}/" if team else ""
    if volume := _first_writable(settings.get("volumes")):
        found.setdefault("model", {"volume": volume, "path": f"{below}{name}"})
        found.setdefault("checkpoints", {"volume": volume})
        found.setdefault("tensorboard", {"volume": volume})
    for key in ("checkpoints", "tensorboard"):
        if team and isinstance(place := found.get(key), Mapping):
            found[key] = {"path": f"{below}{key}", **place}
    return found


def _first_writable(volumes: Any) -> str | None:
    if not isinstance(volumes, Mapping):
        return None  # which the check of the settings reports
    return next((name for name, of in volumes.items() if not (isinstance(of, Mapping) and of.get("readOnly"))), None)
