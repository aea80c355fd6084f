"""A Kubernetes object for the rules: plain maps and lists, with a marker for unknown values."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

Path = tuple[str, ...]
_VERSION = re.compile(r"v\d+((alpha|beta)\d+)?")
_MOST_COUNT = 10**9


class UncountableError(Exception):
    """The object requests, or may request, an unknown number of accelerators."""

    def __init__(self, problem: str, remedy: str) -> None:
        super().__init__(f"{problem}; {remedy}")
        self.problem = problem
        self.remedy = remedy


class UnseenError(UncountableError):
    """Nothing that a preview shows tells the number. It can be stated in the policy's configuration."""


class Unknown:
    """Marker for a value that is unknown in the preview."""


UNKNOWN = Unknown()


@dataclass(frozen=True)
class Manifest:
    """One object: its API group and kind from its type, and its manifest."""

    group: str
    kind: str
    body: Mapping[str, Any]
    is_patch: bool = False

    @cached_property
    def type(self) -> tuple[str, str]:
        """Group and kind, because several groups may have a kind such as `Job`."""
        return self.group, self.kind

    def metadata(self, key: str) -> Any:
        """A value of its metadata; None if there is none."""
        metadata = self.body.get("metadata")
        return metadata.get(key) if isinstance(metadata, dict) else None

    @property
    def annotations(self) -> Mapping[str, Any]:
        """Its own annotations. Raises UncountableError if they are unknown in the preview."""
        return part(part(self.body, "metadata"), "annotations", ("metadata",))


def of(token: str, body: Mapping[str, Any]) -> Manifest:
    """The object behind a resource of type `kubernetes:GROUP/VERSION:KIND`, from its plain properties."""
    _, module, kind = token.split(":", 2)
    group = _group(module)
    written = body.get("kind")
    is_patch = kind.endswith("Patch") and written in (None, kind.removesuffix("Patch"))
    kind = kind.removesuffix("Patch") if is_patch else kind
    written_group = _group(body["apiVersion"]) if isinstance(body.get("apiVersion"), str) else group
    if (written or kind, written_group) != (kind, group):
        problem = f"its type is {group} {kind}, and its manifest says {written_group} {written}"
        raise UncountableError(problem, "give both the same apiVersion and kind")
    return Manifest(group, kind, body, is_patch)


def _group(version: str) -> str:
    group = version.partition("/")[0]
    return "core" if _VERSION.fullmatch(group) else group


def unknown(path: Path) -> UncountableError:
    """The error for a value that is UNKNOWN but required."""
    problem = f"`{dotted(path)}` is not known before the update"
    return UncountableError(problem, "write it as a plain value instead of an output of another resource")


def dotted(path: Path) -> str:
    """A path for messages."""
    return ".".join(path)


def part(owner: Mapping[str, Any], key: str, path: Path = ()) -> Mapping[str, Any]:
    """A map inside another one; empty if there is none."""
    value = owner.get(key)
    if value is UNKNOWN:
        raise unknown((*path, key))
    if value is not None and not isinstance(value, dict):
        raise UncountableError(f"`{dotted((*path, key))}` is not a map", "write it as Kubernetes documents it")
    return value or {}


def items(owner: Mapping[str, Any], key: str, path: Path = ()) -> list[Mapping[str, Any]]:
    """A list of maps inside a map; empty if there is none."""
    value = owner.get(key)
    if value is UNKNOWN or (isinstance(value, list) and any(each is UNKNOWN for each in value)):
        raise unknown((*path, key))
    if value is not None and not (isinstance(value, list) and all(isinstance(each, dict) for each in value)):
        problem = f"`{dotted((*path, key))}` is not a list of maps"
        raise UncountableError(problem, "write it as Kubernetes documents it")
    return value or []


def number(owner: Mapping[str, Any], key: str, default: int, path: Path = ()) -> int:
    """A count inside a map."""
    value = owner.get(key)
    return default if value is None else whole_number(value, (*path, key))


def whole_number(value: Any, path: Path) -> int:
    """A count in the formats of YAML, Kubernetes or Pulumi: 2, 2.0 or "2"."""
    if value is UNKNOWN:
        raise unknown(path)
    if isinstance(value, str) and ("{{" in value or "$" in value):
        raise UnseenError(f"`{dotted(path)}` is filled in later", "write it as a plain number")
    try:
        count = float(value)
    except (TypeError, ValueError, OverflowError):
        count = -1.0
    if isinstance(value, bool) or not 0 <= count <= _MOST_COUNT or not count.is_integer():
        raise UncountableError(f"`{dotted(path)}` is not a count", "give it as a whole number, 0 or more")
    return int(count)
