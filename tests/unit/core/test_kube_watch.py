"""A watched list: what it tells of objects that were deleted, while it was connected and while it was not."""

from __future__ import annotations

import io
import itertools
import json
import threading
from typing import Any

import urllib3

from tensorplane.core.kube_watch import Watch


def _object(name: str) -> dict[str, Any]:
    return {"metadata": {"name": name}}


def _watched(lists: list[list[str]], connections: list[list[tuple[str, str]]], events: int) -> list[tuple[str, str]]:
    """The first so many events of a server that lists these objects, and between two lists tells these changes."""
    listed, streamed = iter(lists), iter(connections)

    def stream(version: str) -> urllib3.HTTPResponse:
        lines = [json.dumps({"type": change, "object": _object(name)}) for change, name in next(streamed)]
        return urllib3.HTTPResponse(io.BytesIO("".join(f"{line}\n" for line in lines).encode()), preload_content=False)

    watch = Watch(
        fetch=lambda: {"items": [_object(name) for name in next(listed)], "metadata": {"resourceVersion": "1"}},
        stream=stream,
        kind={},
        timeout=None,
        cancelled=threading.Event(),
    )
    return [(change, obj["metadata"]["name"]) for change, obj in itertools.islice(watch.events(), events)]


def test_what_was_deleted_is_told_once() -> None:
    events = _watched([["a", "b"], ["c"]], [[("DELETED", "a")]], 5)
    assert events == [("ADDED", "a"), ("ADDED", "b"), ("DELETED", "a"), ("ADDED", "c"), ("DELETED", "b")]


def test_what_was_added_and_went_without_a_connection_is_told() -> None:
    events = _watched([[], ["b"]], [[("ADDED", "a"), ("MODIFIED", "a")]], 4)
    assert events == [("ADDED", "a"), ("MODIFIED", "a"), ("ADDED", "b"), ("DELETED", "a")]
