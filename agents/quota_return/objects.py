"""Fields of Kubernetes objects: owners, conditions, times."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

Object = dict[str, Any]

_EARLIEST = datetime.min.replace(tzinfo=UTC)


def uid(thing: Object) -> str:
    """The UID of an object."""
    return str(thing["metadata"]["uid"])


def owners(thing: Object) -> set[str]:
    """UIDs of the objects that own it."""
    return {str(owner["uid"]) for owner in thing["metadata"].get("ownerReferences") or ()}


def created(thing: Object) -> datetime:
    """When it was created."""
    return parse_time(thing["metadata"].get("creationTimestamp"))


def condition(thing: Object, kind: str) -> Object:
    """One condition; empty where the object does not have it."""
    found = (thing.get("status") or {}).get("conditions") or ()
    return next((one for one in found if one["type"] == kind), {})


def holds(thing: Object, kind: str) -> bool:
    """Whether a condition is true."""
    return condition(thing, kind).get("status") == "True"


def parse_time(text: str | None) -> datetime:
    """A time of the API; the earliest possible one if the text is empty."""
    return datetime.fromisoformat(text) if text else _EARLIEST


def last_seen(event: Object) -> datetime:
    """When an event was last seen, by either of the two APIs that report events."""
    times = (event.get("lastTimestamp"), (event.get("series") or {}).get("lastObservedTime"), event.get("eventTime"))
    return max(parse_time(each) for each in times)
