"""The resources of one stack as plain values. All rules of an evaluation share one view."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from gpu_usage.manifest import UNKNOWN, Manifest, UncountableError, Unknown, dotted, of, plain, unknown
from pulumi_policy import PolicyResource

_STACK = "pulumi:pulumi:Stack"
_CLUSTER = "tensorplane:index:Cluster"
_KUBERNETES = "kubernetes:"


@dataclass(frozen=True, eq=False)
class Seen:
    """One resource: its type, and its properties as plain values with UNKNOWN for what only the update knows."""

    resource: PolicyResource
    body: Mapping[str, Any]
    manifest: Manifest | None
    """The Kubernetes object, if it is one."""
    fault: UncountableError | None = None
    """Why it cannot be read. gpu-quota refuses it; for the other rules, it has no properties."""

    @property
    def type(self) -> str:
        """Its type, as Pulumi spells it."""
        return str(self.resource.resource_type)

    @property
    def urn(self) -> str:
        """Its identity in the stack."""
        return str(self.resource.urn)

    @property
    def kind(self) -> str:
        """The last part of its type."""
        return self.type.rpartition(":")[2]

    @property
    def who(self) -> str:
        """How messages name it."""
        return f"{self.resource.name} ({self.kind})"

    @property
    def protected(self) -> bool:
        """Whether the engine refuses to delete it."""
        return bool(self.resource.opts.protect)

    @property
    def namespace(self) -> Any:
        """The namespace of a Kubernetes object; empty if it has none, UNKNOWN if only the update knows it."""
        found = self.manifest.metadata("namespace") if self.manifest else None
        return "" if found is None else found


@dataclass(eq=False)
class View:
    """The resources of a stack."""

    resources: Sequence[PolicyResource]
    all: list[Seen] = field(init=False)

    def __post_init__(self) -> None:
        self.all = [_seen(one) for one in self.resources]

    def of(self, *tokens: str) -> Iterator[Seen]:
        """The resources of these types."""
        return (one for one in self.all if one.type in tokens)

    def kinds(self, *types: tuple[str, str]) -> Iterator[tuple[Seen, Manifest]]:
        """The Kubernetes objects of these groups and kinds."""
        return ((one, one.manifest) for one in self.all if one.manifest and one.manifest.type in types)

    @cached_property
    def stack(self) -> str:
        """The stack's name, as in the names of its files."""
        return str(self.resources[0].urn).split(":")[2]

    @cached_property
    def urn(self) -> str:
        """The stack's own resource. `pulumi policy analyze` (3.246) panics on a violation without a resource."""
        project = self.resources[0].urn.split("::")[1]
        return f"urn:pulumi:{self.stack}::{project}::{_STACK}::{project}-{self.stack}"

    @cached_property
    def cluster(self) -> str:
        """The kind of the stack's cluster; empty if it registers none."""
        return next((str(one.body.get("kind", "")) for one in self.of(_CLUSTER)), "")

    @property
    def unlimited(self) -> float:
        """Infinity on the embedded cluster, whose nodes with GPUs are simulated; else 0."""
        return math.inf if self.cluster == "embedded" else 0

    @property
    def config(self) -> str:
        """The configuration file of this stack's policies."""
        return f"policies/config.{self.stack}.json"


def _seen(resource: PolicyResource) -> Seen:
    body: Mapping[str, Any] = {}
    try:
        body = plain(resource.props)
        manifest = of(resource.resource_type, body) if resource.resource_type.startswith(_KUBERNETES) else None
        return Seen(resource, body, manifest)
    except UncountableError as fault:
        return Seen(resource, body, None, fault)
    except Exception as crash:  # its text may contain values of the object
        problem = f"this rule cannot read it ({type(crash).__name__})"
        return Seen(resource, body, None, UncountableError(problem, "write it as Kubernetes documents it"))


def at(owner: Mapping[str, Any], *keys: str) -> Any:
    """A value at a path; None if it is missing. Raises UncountableError if a map on the way is UNKNOWN."""
    value: Any = owner
    for depth, key in enumerate(keys):
        if isinstance(value, Unknown):
            raise unknown(keys[:depth])
        if not isinstance(value, Mapping):
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
    if isinstance(value, Mapping):  # the SDKs of clouds wrap one block as a map
        return [value]
    if isinstance(value, list) and any(each is UNKNOWN for each in value):
        raise unknown(keys)
    if not all(isinstance(each, Mapping) for each in value or ()):
        raise UncountableError(f"`{dotted(keys)}` is not a list of maps", "write it as its API documents it")
    return value or []
