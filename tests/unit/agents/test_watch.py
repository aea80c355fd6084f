"""A list that is followed by its changes: what is kept is what the API server has, whatever happens in between."""

from __future__ import annotations

import urllib.error
from collections.abc import Generator
from dataclasses import dataclass, field
from email.message import Message
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tensorplane.agents.api import ApiServer
from tensorplane.agents.watch import Informer
from tests.support import counts
from tests.unit.agents.fake_api_server import FakeApiServer

_DRAWS = counts.of(quick=100, nightly=5000)
_MANY = 250


@dataclass
class _Objects:
    """Those of a kind, and all changes of them."""

    now: dict[str, int] = field(default_factory=dict)
    changes: list[tuple[str, str, int]] = field(default_factory=list)
    first: int = 0
    """The first change that is not forgotten."""

    def set(self, name: str) -> None:
        self.changes.append(("MODIFIED" if name in self.now else "ADDED", name, len(self.changes) + 1))
        self.now[name] = len(self.changes)

    def delete(self, name: str) -> None:
        if self.now.pop(name, None):
            self.changes.append(("DELETED", name, len(self.changes) + 1))


@dataclass(frozen=True)
class _Server(ApiServer):
    """Lists them by pages, and breaks off where a test says so."""

    objects: _Objects = field(default_factory=_Objects)
    asked: list[str] = field(default_factory=list)
    breaks: list[int] = field(default_factory=list)
    """After how many changes the next answers break off."""

    def send(self, method: str, path: str, body: Any = None, *, content_type: str | None = None) -> Any:
        self.asked.append(path)
        query = dict(each.split("=") for each in path.partition("?")[2].split("&"))
        begin, limit = int(query.get("continue", 0)), int(query["limit"])
        page = sorted(self.objects.now.items())[begin : begin + limit]
        more = {"continue": str(begin + limit)} if begin + limit < len(self.objects.now) else {}
        version = {"resourceVersion": str(len(self.objects.changes) + 1)}
        return {"metadata": {**version, **more}, "items": [_object(*each) for each in page]}

    def watch(self, path: str, version: str, seconds: int) -> Generator[Any]:
        after = int(version) - 1
        if after < self.objects.first:
            if self.objects.first % 2:
                raise urllib.error.HTTPError(path, 410, "Expired", Message(), None)
            yield {"type": "ERROR", "object": {"kind": "Status", "code": 410}}
            return
        ends = self.breaks.pop() if self.breaks else None
        for number, (kind, name, at) in enumerate(self.objects.changes[after:]):
            if number == ends:
                raise ConnectionResetError
            yield {"type": kind, "object": _object(name, at, version=at + 1)}


def _object(name: str, value: int, *, version: int = 0) -> dict[str, Any]:
    return {"metadata": {"name": name, "resourceVersion": str(version)}, "value": value}


def _followed(server: ApiServer) -> Informer[int]:
    return Informer(server, "api/v1/things", lambda found: int(found["value"]))


_NAMES = st.sampled_from("abcd")
_STEPS = st.one_of(
    st.tuples(st.just("set"), _NAMES),
    st.tuples(st.just("delete"), _NAMES),
    st.tuples(st.sampled_from(["look", "forget", "break"]), st.just("")),
)


@pytest.mark.counted
@settings(max_examples=_DRAWS, deadline=None)
@given(steps=st.lists(_STEPS, max_size=40))
def test_what_is_kept_is_what_there_is(steps: list[tuple[str, str]]) -> None:
    objects = _Objects()
    server = _Server(objects=objects)
    followed = _followed(server)
    for step, name in [*steps, ("look", "")]:
        if step == "set":
            objects.set(name)
        elif step == "delete":
            objects.delete(name)
        elif step == "forget":
            objects.first = len(objects.changes)
        elif step == "break":
            server.breaks.append(1)
        else:
            try:
                found = followed.refresh()
            except ConnectionResetError:
                found = followed.refresh()
            assert found == objects.now


def test_many_are_listed_once_and_page_by_page() -> None:
    objects = _Objects()
    for number in range(_MANY):
        objects.set(f"n{number}")
    server = _Server(objects=objects)
    followed = _followed(server)
    for _ in range(3):
        objects.set("n0")
        assert followed.refresh() == objects.now
    assert len(server.asked) == -(-_MANY // 100)


def test_changes_come_as_lines_of_one_answer(api_server: FakeApiServer) -> None:
    api_server.answers["GET", "/api/v1/things"] = (
        200,
        {"metadata": {"resourceVersion": "7"}, "items": [_object("a", 1)]},
    )
    followed = _followed(api_server.client)
    assert followed.refresh() == {"a": 1}
    assert followed.refresh() == {"a": 1}
    watched = "/api/v1/things?watch=true&resourceVersion=7&timeoutSeconds=1"
    assert [path for _, path, _ in api_server.asked] == ["/api/v1/things?limit=100", watched]
