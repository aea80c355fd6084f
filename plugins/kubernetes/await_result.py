"""The result of readiness checks, and their common functions to read Kubernetes objects."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Object = dict[str, Any]
"""A Kubernetes object as the API server's JSON gives it."""

Related = Mapping[str, Sequence[Object]]
"""Kind -> the objects of that kind that the check asked for with its `Lookup`s."""


@dataclass(frozen=True)
class CheckResult:
    """The result of one check of an object."""

    ready: bool
    status: str
    """What is awaited, or was reached: one line for the progress column."""
    reasons: tuple[str, ...] = ()
    """Why it is not ready, the most important reason first. They become the error on a timeout."""
    failed: bool = False
    """It will never become ready: waiting longer is pointless."""
    settle_seconds: float = 0.0
    """A ready result counts only after `evidence` has not changed for this long."""
    evidence: str = ""


@dataclass(frozen=True)
class Lookup:
    """Other objects that a check reads: all of a kind in the object's namespace that a selector matches."""

    api_version: str
    kind: str
    select: Callable[[Object], str | None] = lambda obj: ""
    """Label selector for this object; None if there is nothing to look up."""
    owned: bool = False
    """Keep only objects owned by this object (by ownerReferences)."""
    namespaced: bool = True


@dataclass(frozen=True)
class Awaiter:
    """How a kind of object is awaited."""

    check: Callable[[Object, Related], CheckResult]
    lookups: tuple[Lookup, ...] = ()
    timeout_seconds: float = 600.0
    on_read: bool = False
    """A refresh reports an object of this kind that is not ready."""
    pods: Callable[[Object, Related], Sequence[Object]] = field(default=lambda obj, related: ())
    """The pods whose problems explain why the object is not ready."""


def dig(obj: Any, *path: str, default: Any = None) -> Any:
    """The value at a path of keys, `default` where any part is missing or null."""
    for key in path:
        if not isinstance(obj, dict) or obj.get(key) is None:
            return default
        obj = obj[key]
    return obj


def condition(obj: Object, kind: str) -> Object | None:
    """The status condition of that type (case matters, as the API conventions say)."""
    for found in dig(obj, "status", "conditions", default=()):
        if found.get("type") == kind:
            return dict(found)
    return None


def is_true(found: Object | None) -> bool:
    return found is not None and found.get("status") == "True"


def explain(found: Object | None) -> tuple[str, ...]:
    """A condition's `[Reason] message`, or an empty text."""
    if not found or not (found.get("reason") or found.get("message")):
        return ()
    return (f"[{found.get('reason') or found['type']}] {found.get('message', '')}".rstrip(),)


def is_observed(obj: Object) -> bool:
    """The controller has observed the newest spec; until then the status is that of an older one."""
    generation = dig(obj, "metadata", "generation", default=0)
    observed = dig(obj, "status", "observedGeneration")
    return observed is not None and bool(observed >= generation)


def is_owned(obj: Object, owner: Object) -> bool:
    uid = dig(owner, "metadata", "uid")
    return any(ref.get("uid") == uid for ref in dig(obj, "metadata", "ownerReferences", default=()))


def full_name(obj: Object) -> str:
    """`namespace/name`, or the name alone in the default namespace and for cluster-wide objects."""
    namespace = dig(obj, "metadata", "namespace", default="")
    name = dig(obj, "metadata", "name", default="")
    return name if namespace in ("", "default") else f"{namespace}/{name}"


def label_selector(obj: Object) -> str | None:
    """`.spec.selector` of a workload in the form that a list request takes; None for an empty one."""
    labels = dig(obj, "spec", "selector", "matchLabels", default={})
    terms = [f"{key}={value}" for key, value in sorted(labels.items())]
    for term in dig(obj, "spec", "selector", "matchExpressions", default=()):
        values = ",".join(term.get("values", ()))
        operators = {"In": f"{term['key']} in ({values})", "NotIn": f"{term['key']} notin ({values})"}
        operators |= {"Exists": term["key"], "DoesNotExist": f"!{term['key']}"}
        terms.append(operators[term["operator"]])
    return ",".join(terms) or None


PODS = Lookup("v1", "Pod", label_selector, owned=True)
