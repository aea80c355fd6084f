"""Leases as the API server keeps them: a merge patch of a version that is no longer the newest is refused."""

from __future__ import annotations

import copy
import io
import urllib.error
from dataclasses import dataclass, field
from email.message import Message
from typing import Any

from tensorplane.agents.api import CONFLICT, NOT_FOUND


def refused(code: int) -> urllib.error.HTTPError:
    """What a client raises for this status."""
    return urllib.error.HTTPError("https://api", code, "refused", Message(), io.BytesIO())


@dataclass
class Leases:
    """By path, without the query."""

    there: dict[str, dict[str, Any]] = field(default_factory=dict)
    _version: int = 0

    def create(self, path: str) -> None:
        """One as the platform creates it."""
        self.there[path] = {"metadata": {"name": path.rpartition("/")[2], "resourceVersion": self._next()}}

    def answer(self, method: str, path: str, body: Any = None) -> dict[str, Any]:
        """The answer to a request; raises what a client does if it is refused."""
        if path not in self.there:
            raise refused(NOT_FOUND)
        found = self.there[path]
        if method == "PATCH":
            about = dict(body["metadata"])
            if about.pop("resourceVersion") != found["metadata"]["resourceVersion"]:
                raise refused(CONFLICT)
            spec = {**found.get("spec", {}), **body.get("spec", {})}
            found = self.there[path] = {
                "metadata": {**found["metadata"], **about, "resourceVersion": self._next()},
                "spec": {key: value for key, value in spec.items() if value is not None},
            }
        return copy.deepcopy(found)

    def holder(self, path: str) -> str:
        """The pod that it names; empty if it is released."""
        return str(self.there[path].get("spec", {}).get("holderIdentity", ""))

    def _next(self) -> str:
        self._version += 1
        return str(self._version)
