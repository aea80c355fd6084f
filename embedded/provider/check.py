"""Check: completes a resource's inputs (name, namespace) and refuses what can be refused without a server."""

from __future__ import annotations

from typing import Any

from pulumi.runtime.proto import provider_pb2

from embedded.fault import Fault
from embedded.provider import await_ready, checkpoint, kinds, naming, object_annotations
from embedded.provider.gvk import GVK
from embedded.provider.normalize import normalize
from embedded.provider.session import Session
from embedded.provider.values import Properties, has_unknown

Autonaming = provider_pb2.CheckRequest.AutonamingOptions | None
Object = dict[str, Any]


def check(
    session: Session, urn: str, olds: Properties, news: Properties, seed: bytes, autonaming: Autonaming
) -> Properties:
    """The inputs for Diff, Create and Update; `olds` are the inputs of the last update, empty for a new resource."""
    token = kinds.token(urn)
    if kinds.is_list(token):
        kind = token.rpartition(":")[2]
        raise Fault(f"{kind} cannot be a resource: it only groups objects in YAML; make its items, one resource each")
    obj = normalize(checkpoint.from_properties(news))
    if kinds.is_patch(token, obj) and not naming.is_named(obj):
        raise Fault("a Patch resource must say which object it patches: set metadata.name")
    if olds:
        naming.adopt(obj, checkpoint.from_properties(olds))
    else:
        naming.assign(obj, kinds.name(urn), seed, autonaming)
    if naming.is_generated(obj):
        raise Fault("metadata.generateName is not supported with server-side apply: set metadata.name or neither")
    _place(session, obj)
    _refuse_bad_annotations(session, urn, news, obj)
    if kinds.is_crd(obj):
        session.declare(obj)
    return checkpoint.to_properties(obj, news)


def _place(session: Session, obj: Object) -> None:
    """Puts an object that names no namespace into the `Provider`'s."""
    metadata = naming.metadata(obj)
    if session.namespace and not metadata.get("namespace") and session.is_namespaced(GVK.of(obj)):
        metadata["namespace"] = session.namespace


def _refuse_bad_annotations(session: Session, urn: str, news: Properties, obj: Object) -> None:
    given = checkpoint.from_properties(news)
    if object_annotations.value(given, object_annotations.AUTONAMED):
        session.engine.warn(urn, f"ignoring the annotation {object_annotations.AUTONAMED}: the provider sets it itself")
    if not has_unknown(obj):
        wrong = await_ready.check_annotations(obj)
        if wrong:
            raise Fault(wrong)
