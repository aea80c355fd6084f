"""The log of one container: where it is in the API, and what it is called in front of its lines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from cli.pipelines.workflow import said_by_argo
from core.kube import Kube


@dataclass(frozen=True)
class Source:
    """A container that has started."""

    place: tuple[str, int]
    """Of its pod: role and index."""
    path: str
    """Of its log."""
    key: tuple[str, str]
    """The pod's uid, and which start of which container; a restarted container is another source."""
    container: str = ""
    """Empty if the pod has one."""
    of_argo: bool = False
    """Whether Argo's executor writes lines of its own to it, which are left out."""

    def read(self, api: Kube, query: Mapping[str, str]) -> list[str]:
        """Its lines so far."""
        found = api.text(self.path, **self._query(query)).splitlines()
        return [line for line in found if self._is_shown(line)]

    def follow(self, api: Kube, query: Mapping[str, str]) -> Iterator[str]:
        """Its lines as they come, until the container ends."""
        found = api.lines(self.path, **self._query(query), follow="true")
        return (line for line in found if self._is_shown(line))

    def _query(self, query: Mapping[str, str]) -> dict[str, str]:
        return {**query, **({"container": self.container} if self.container else {})}

    def _is_shown(self, line: str) -> bool:
        return not (self.of_argo and said_by_argo(line))
