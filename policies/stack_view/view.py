"""The resources of one stack as plain values. All rules of an evaluation share one view."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from gpu_usage.manifest import UNKNOWN, Manifest, UncountableError, Unknown, dotted, of, unknown

from stack_view.properties import to_plain

_STACK = "pulumi:pulumi:Stack"
_CLUSTER = "tensorplane:index:Cluster"
_KUBERNETES = "kubernetes:"
_OF_VERSION = re.compile(r"(azure-native:\w+)/v\d{8}\w*(:\w+)")
"""Azure's resources, of which each version of its API has types of its own."""


@dataclass(eq=False)
class Resource:
    """One resource, as a rule sees it."""

    type: str
    """As Pulumi spells it, without the version of Azure's API."""
    urn: str
    """Its identity in the stack."""
    name: str
    body: Mapping[str, Any]
    """Its properties as plain values, with UNKNOWN for what only the update knows."""
    manifest: Manifest | None
    """The Kubernetes object, if it is one."""
    error: UncountableError | None
    """Why it cannot be read. gpu-quota refuses it; for the other rules, it has no properties."""
    protected: bool
    """Whether the engine refuses to delete it."""
    hidden: bool
    """Whether the engine knows nothing of its properties yet."""
    parent: Resource | None = None

    @property
    def kind(self) -> str:
        """The last part of its type."""
        return self.type.rpartition(":")[2]

    @property
    def who(self) -> str:
        """How messages name it."""
        return f"{self.name} ({self.kind})"

    @property
    def namespace(self) -> Any:
        """The namespace of a Kubernetes object; empty if it has none, UNKNOWN if only the update knows it."""
        found = self.manifest.metadata("namespace") if self.manifest else None
        return "" if found is None else found


@dataclass(eq=False)
class View:
    """The resources of a stack."""

    all: list[Resource]

    @classmethod
    def of_messages(cls, resources: Sequence[Any]) -> View:
        """The view of what the engine sends (AnalyzerResource)."""
        found = [_resource(message) for message in resources]
        by_urn = {resource.urn: resource for resource in found}
        for resource, message in zip(found, resources, strict=True):
            resource.parent = by_urn.get(message.parent)
        return cls(found)

    def of(self, *tokens: str) -> Iterator[Resource]:
        """The resources of these types."""
        return (one for token in tokens for one in self._by_type[token])

    def kinds(self, *types: tuple[str, str]) -> Iterator[tuple[Resource, Manifest]]:
        """The Kubernetes objects of these groups and kinds."""
        return (one for each in types for one in self._by_kind[each])

    @cached_property
    def _by_type(self) -> Mapping[str, list[Resource]]:
        found: dict[str, list[Resource]] = defaultdict(list)
        for resource in self.all:
            found[resource.type].append(resource)
        return found

    @cached_property
    def _by_kind(self) -> Mapping[tuple[str, str], list[tuple[Resource, Manifest]]]:
        found: dict[tuple[str, str], list[tuple[Resource, Manifest]]] = defaultdict(list)
        for resource in self.all:
            if resource.manifest:
                found[resource.manifest.type].append((resource, resource.manifest))
        return found

    @cached_property
    def hidden(self) -> list[Resource]:
        """The resources of which this preview shows nothing."""
        return [resource for resource in self.all if resource.hidden]

    @cached_property
    def stack(self) -> str:
        """The stack's name, as in the names of its files."""
        return self.all[0].urn.split(":")[2]

    @cached_property
    def urn(self) -> str:
        """The stack's own resource. `pulumi policy analyze` (3.246) panics on a violation without a resource."""
        project = self.all[0].urn.split("::")[1]
        return f"urn:pulumi:{self.stack}::{project}::{_STACK}::{project}-{self.stack}"

    @cached_property
    def cluster(self) -> str:
        """The kind of the stack's cluster; empty if it registers none, or several kinds."""
        kinds = {str(one.body.get("kind", "")) for one in self.of(_CLUSTER)}
        return kinds.pop() if len(kinds) == 1 else ""

    @property
    def config(self) -> str:
        """The configuration file of this stack's policies."""
        return f"policies/config.{self.stack}.json"


def _resource(message: Any) -> Resource:
    body: Mapping[str, Any] = {}
    manifest, error = None, None
    try:
        body = to_plain(message.properties.fields)
        manifest = of(message.type, body) if message.type.startswith(_KUBERNETES) else None
    except UncountableError as reason:
        error = reason
    except Exception as crash:  # its text may contain values of the object
        problem = f"this rule cannot read it ({type(crash).__name__})"
        error = UncountableError(problem, "write it as Kubernetes documents it")
    protected, hidden = message.options.protect, _is_hidden(message)
    token = _OF_VERSION.sub(r"\1\2", message.type)
    return Resource(token, message.urn, message.name, body, manifest, error, protected, hidden)


def _is_hidden(message: Any) -> bool:
    """Whether its provider's settings are not known, so that the engine sends nothing of it. Components have none."""
    if message.properties.fields or not message.HasField("provider"):
        return False
    # Every Kubernetes object has a kind.
    return message.type.startswith(_KUBERNETES) or UNKNOWN in to_plain(message.provider.properties.fields).values()


def at(owner: Mapping[str, Any], *keys: str) -> Any:
    """A value at a path; None if it is missing. Raises UncountableError if a map on the way is UNKNOWN."""
    value: Any = owner
    for depth, key in enumerate(keys):
        if isinstance(value, Unknown):
            raise unknown(keys[:depth])
        if not isinstance(value, dict):
            return None
        value = value.get(key)
    return value


def known(owner: Mapping[str, Any], *keys: str) -> Any:
    """A value at a path that decides, so it must not be UNKNOWN."""
    value = at(owner, *keys)
    if value is UNKNOWN:
        raise unknown(keys)
    return value


def maps(owner: Mapping[str, Any], *keys: str) -> list[Mapping[str, Any]]:
    """The maps in a list at a path; none if it is missing. Raises UncountableError if it is UNKNOWN."""
    value = known(owner, *keys)
    if isinstance(value, dict):  # the SDKs of clouds wrap one block as a map
        return [value]
    if isinstance(value, list) and any(each is UNKNOWN for each in value):
        raise unknown(keys)
    if not all(isinstance(each, dict) for each in value or ()):
        raise UncountableError(f"`{dotted(keys)}` is not a list of maps", "write it as its API documents it")
    return value or []
