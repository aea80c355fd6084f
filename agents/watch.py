"""Objects of one kind in the cluster, by list and watch: a list with a wait for the next change, and an informer, which
keeps the list up to date."""

from __future__ import annotations

import time
import urllib.error
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from agents.api import GONE, ApiServer


@dataclass
class Watched:
    """The objects that a list's path, with a query, shows."""

    server: ApiServer
    path: str
    _seen: str = field(default="", init=False)
    """Resource version of the last list; empty once a change of it was waited for."""

    def items(self) -> list[dict[str, Any]]:
        """All of them."""
        # Without resourceVersion: what this process changed a moment ago must be seen.
        found = self.server.send("GET", self.path)
        self._seen = found["metadata"]["resourceVersion"]
        return list(found["items"])

    def wait(self, seconds: int) -> None:
        """Wait until one is another than `items` has seen it, but not longer than this."""
        seen, self._seen = self._seen, ""
        if seen:
            self.server.wait_for_change(self.path, seen, seconds)
        else:
            time.sleep(seconds)


T = TypeVar("T")
_PAGE = 100
"""Objects in one answer: a node is 20 kB of text, and several times as large once it is read."""
_SECONDS = 1
"""For which changes are waited for, at least one as the API server counts."""


@dataclass
class Followed(Generic[T]):
    """The objects that a list's path shows, by their names."""

    server: ApiServer
    path: str
    read: Callable[[Any], T]
    """What is kept of an object."""
    _kept: dict[str, T] = field(default_factory=dict, init=False)
    _version: str = field(default="", init=False)
    """Resource version of what is kept; empty if it cannot be followed."""

    def now(self) -> dict[str, T]:
        """All of them. It takes a second, but for the first time. Raises OSError if the API server does not answer.

        Whatever goes wrong, they are listed the next time.
        """
        version, self._version = self._version, ""
        self._version = (version and self._follow(version)) or self._list()
        return self._kept

    def _list(self) -> str:
        """The resource version of the list."""
        self._kept, version, rest = {}, "", ""
        while not version or rest:
            found = self.server.send("GET", f"{self.path}?limit={_PAGE}{rest}")
            self._kept |= {each["metadata"]["name"]: self.read(each) for each in found["items"]}
            version = version or found["metadata"]["resourceVersion"]
            following = found["metadata"].get("continue")
            rest = f"&continue={following}" if following else ""
        return version

    def _follow(self, version: str) -> str:
        """The resource version of the last change; empty if the API server no longer has all changes."""
        try:
            for change in self.server.changes(self.path, version, _SECONDS):
                found = change["object"]
                if change["type"] == "ERROR":
                    return ""
                name, version = found["metadata"]["name"], found["metadata"]["resourceVersion"]
                if change["type"] == "DELETED":
                    self._kept.pop(name, None)
                else:
                    self._kept[name] = self.read(found)
        except urllib.error.HTTPError as error:
            if error.code != GONE:
                raise
            return ""
        return version
