"""Google's discovery documents, as google-api-python-client ships them: a schema by `container.v1.NodePool`."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tensorplane.plugins.cloud_models import package
from tensorplane.plugins.cloud_models.shape import Limits, Shape

PACKAGE = "google-api-python-client"
_WHOLE: Mapping[str, tuple[float, float | None]] = {
    "int32": (-(2**31), 2**31 - 1),
    "uint32": (0, 2**32 - 1),
    "uint64": (0, None),
}
"""Bounds of whole numbers by format, as far as somebody may exceed them."""

Definition = Mapping[str, Any]


@dataclass(frozen=True)
class GoogleShape:
    """A schema of a discovery document, or a property of one."""

    document: str
    definition: Definition

    def _of(self, definition: Definition) -> GoogleShape:
        if name := definition.get("$ref"):
            definition = _document(self.document)["schemas"][name]
        return GoogleShape(self.document, definition)

    @property
    def limits(self) -> Limits:
        of = self.definition
        least, most = _WHOLE.get(of.get("format", ""), (None, None))
        return Limits(
            allowed=tuple(of.get("enum", ())),
            pattern=of.get("pattern", ""),
            least=_number(of.get("minimum"), least),
            most=_number(of.get("maximum"), most),
        )

    @property
    def is_logical(self) -> bool:
        return bool(self.definition.get("type") == "boolean")

    def members(self) -> Mapping[str, Shape]:
        return {name: self._of(of) for name, of in self.definition.get("properties", {}).items()}

    def item(self) -> Shape | None:
        found = self.definition.get("items")
        return self._of(found) if found else None

    def entry(self) -> tuple[Shape | None, Shape] | None:
        found = self.definition.get("additionalProperties")
        return (None, self._of(found)) if found else None


def find(address: str) -> Shape | None:
    """A schema: `container.v1.NodePool`."""
    document, _, name = address.rpartition(".")
    found = _document(document)["schemas"].get(name)
    return GoogleShape(document, found) if found else None


@functools.cache
def _document(name: str) -> Definition:
    # The files alone: importing the client would take the packages that it calls the cloud with.
    file = package.folder(PACKAGE) / "discovery_cache" / "documents" / f"{name}.json"
    found: Definition = json.loads(file.read_bytes()) if file.exists() else {"schemas": {}}
    return found


def _number(text: str | None, otherwise: float | None) -> float | None:
    return otherwise if text is None else float(text)
