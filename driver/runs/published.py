"""What a finished run has published, from the status of its pods (`runtime/tensorplane/termination_message.py`)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

_KEY = '{"published": '
_DIGITS = 4


@dataclass(frozen=True)
class Published:
    """A version of a model, and what made it."""

    version: str
    """Its folder: `digits/3`."""
    code: str = ""
    image: str = ""
    data: Mapping[str, Any] = field(default_factory=dict)
    steps: int | None = None
    metrics: Mapping[str, Any] = field(default_factory=dict)

    @property
    def lines(self) -> Iterator[str]:
        """Its lineage, for people."""
        after = f" after {self.steps:,} steps" if self.steps else ""
        figures = ", ".join(f"{name} {_short(value)}" for name, value in self.metrics.items())
        yield f"It has published {self.version}{after}{f': {figures}' if figures else ''}"
        if self.code:
            yield f"code: {self.code}"
        if self.image:
            yield f"image: {self.image}"
        for name, value in self.data.items():
            yield f"{name}: {', '.join(map(str, value)) if isinstance(value, Mapping | list) else value}"


def find(pods: Iterable[Mapping[str, Any]]) -> Published | None:
    """What the pods of a run have published; None if they do not tell."""
    for pod in pods:
        for status in (pod.get("status") or {}).get("containerStatuses") or ():
            ended = (status.get("state") or {}).get("terminated") or {}
            if ended.get("exitCode") == 0 and (found := _read(str(ended.get("message") or ""))):
                return found
    return None


def _read(message: str) -> Published | None:
    if not message.startswith(_KEY):
        return None
    try:
        found = json.loads(message)["published"]
        known = {name: found[name] for name in ("code", "image", "data", "steps", "metrics") if found.get(name)}
        return Published(str(found["version"]), **known)
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def _short(value: object) -> str:
    return f"{value:.{_DIGITS}g}" if isinstance(value, float) else str(value)
