"""Names of Kubernetes kinds: group, version, kind, as a value that can be compared and used as a key."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple


class GVK(NamedTuple):
    """Group, version and kind; the core group is the empty string."""

    group: str
    version: str
    kind: str

    @classmethod
    def parse(cls, api_version: str, kind: str) -> GVK:
        """Reads `apps/v1`, `v1`, and the `core/v1` of Pulumi's type tokens."""
        group, _, version = api_version.rpartition("/")
        return cls("" if group == "core" else group, version, kind)

    @classmethod
    def of(cls, obj: Mapping[str, Any]) -> GVK:
        """The kind of an object; it must have both fields."""
        return cls.parse(str(obj["apiVersion"]), str(obj["kind"]))

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def group_kind(self) -> str:
        """`Kind.group`, or `Kind` in the core group, as in messages and CRD names."""
        return f"{self.kind}.{self.group}" if self.group else self.kind

    def __str__(self) -> str:
        return f"{self.api_version}/{self.kind}"
