"""Objects of one kind in the cluster, by list and watch: a list with a wait for the next change, and an informer, which
keeps the list up to date."""

from __future__ import annotations

import time
import urllib.error
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from .api import GONE, ApiServer


@dataclass
class WatchedList:
    """The objects that a list's path, with a query, shows."""

    api: ApiServer
    path: str
    _version: str = field(default="", init=False)
    """Resource version of the last list; empty once `wait` has used it."""

    def items(self) -> list[dict[str, Any]]:
        """All of them."""
        # Without resourceVersion, since the list must have what this process changed a moment ago.
        found = self.api.send("GET", self.path)
        self._version = found["metadata"]["resourceVersion"]
        return list(found["items"])

    def wait(self, seconds: int) -> None:
        """Waits until one of them changes after `items` has read them, or until the time is up."""
        version, self._version = self._version, ""
        if version:
            self.api.wait_for_change(self.path, version, seconds)
        else:
            time.sleep(seconds)


T = TypeVar("T")
_PAGE = 100
"""Objects in one answer: a node is 20 kB of text, and several times as large once it is read."""
_SECONDS = 1
"""How long a refresh waits for changes, in whole seconds."""


@dataclass
class Informer(Generic[T]):
    """The objects that a list's path shows, by their names: listed once, and then followed by their changes."""

    api: ApiServer
    path: str
    read: Callable[[Any], T]
    """What the informer holds of an object."""
    _objects: dict[str, T] = field(default_factory=dict, init=False)
    _version: str = field(default="", init=False)
    """Resource version of the objects; empty if they have to be listed again."""

    def refresh(self) -> dict[str, T]:
        """The objects now. Takes a second, except the first time. Raises OSError if the API server does not answer.

        After an error, the next call lists the objects again.
        """
        version, self._version = self._version, ""
        self._version = (version and self._follow(version)) or self._list()
        return self._objects

    def _list(self) -> str:
        """The resource version of the list."""
        self._objects, version, rest = {}, "", ""
        while not version or rest:
            found = self.api.send("GET", f"{self.path}?limit={_PAGE}{rest}")
            self._objects |= {each["metadata"]["name"]: self.read(each) for each in found["items"]}
            version = version or found["metadata"]["resourceVersion"]
            following = found["metadata"].get("continue")
            rest = f"&continue={following}" if following else ""
        return version

    def _follow(self, version: str) -> str:
        """The resource version of the last change; empty if the API server no longer has all changes."""
        try:
            for change in self.api.watch(self.path, version, _SECONDS):
                found = change["object"]
                if change["type"] == "ERROR":
                    return ""
                name, version = found["metadata"]["name"], found["metadata"]["resourceVersion"]
                if change["type"] == "DELETED":
                    self._objects.pop(name, None)
                else:
                    self._objects[name] = self.read(found)
        except urllib.error.HTTPError as error:
            if error.code != GONE:
                raise
            return ""
        return version
