"""Looks up related objects for checks and error messages: replica sets, pods, endpoints, events."""

from __future__ import annotations

from collections.abc import Iterable

from tensorplane.core.errors import ApiError
from tensorplane.core.gvk import GVK
from tensorplane.core.kube_objects import Objects
from tensorplane.plugins.kubernetes.await_result import Awaiter, Lookup, Object, Related, dig, is_owned

_EVENT = GVK("", "v1", "Event")


def related(api: Objects, obj: Object, awaiter: Awaiter) -> Related:
    """One list request per lookup. Objects that the user may not list count as absent, as in pulumi-kubernetes."""
    return {lookup.kind: _find(api, obj, lookup) for lookup in awaiter.lookups}


def warnings(api: Objects, objects: Iterable[Object]) -> list[Object]:
    """The warning events about these objects, which live in one namespace."""
    uids = {dig(obj, "metadata", "uid"): dig(obj, "metadata", "namespace", default="default") for obj in objects}
    found: list[Object] = []
    for namespace in sorted(set(uids.values())):
        found += _list(api, _EVENT, namespace, fields="type=Warning")
    return [event for event in found if dig(event, "involvedObject", "uid") in uids]


def _find(api: Objects, obj: Object, lookup: Lookup) -> list[Object]:
    labels = lookup.select(obj)
    if labels is None:
        return []
    namespace = dig(obj, "metadata", "namespace") if lookup.namespaced else None
    found = _list(api, GVK.parse(lookup.api_version, lookup.kind), namespace, labels=labels)
    return [other for other in found if not lookup.owned or is_owned(other, obj)]


def _list(api: Objects, gvk: GVK, namespace: str | None, labels: str = "", fields: str = "") -> list[Object]:
    try:
        return api.list(gvk, namespace, labels=labels, fields=fields)
    except ApiError:
        return []
