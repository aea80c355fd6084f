"""Objects of one kind in the cluster: their list, and the wait until one of them is another."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

from agents.api import ApiServer


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
