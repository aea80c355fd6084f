"""Check: completes a resource's inputs (name, namespace) and refuses what can be refused without a server."""

from __future__ import annotations

import os
from typing import Any

from pulumi.runtime.proto import provider_pb2

from tensorplane.core.errors import UserError
from tensorplane.core.gvk import GVK
from tensorplane.plugins.kubernetes import await_ready, checkpoint, kinds, naming, object_annotations
from tensorplane.plugins.kubernetes.normalize import normalize
from tensorplane.plugins.kubernetes.session import Session
from tensorplane.plugins.kubernetes.values import Properties, has_unknown

Autonaming = provider_pb2.CheckRequest.AutonamingOptions | None
Object = dict[str, Any]

_MANAGED_BY = "app.kubernetes.io/managed-by"


def check(
    session: Session, urn: str, olds: Properties, news: Properties, seed: bytes, autonaming: Autonaming
) -> Properties:
    """The inputs for Diff, Create and Update; `olds` are the inputs of the last update, empty for a new resource."""
    token = kinds.token(urn)
    if kinds.is_list(token):
        kind = token.rpartition(":")[2]
        raise UserError(
            f"{kind} cannot be a resource, since it only groups objects in YAML; declare its items as resources"
        )
    obj = normalize(checkpoint.from_properties(news))
    if kinds.is_patch(token, obj) and not naming.is_named(obj):
        raise UserError("a Patch resource must name the object that it patches; set metadata.name")
    if olds:
        old = checkpoint.from_properties(olds)
        naming.adopt(obj, old)
        _keep_managed_by(obj, old)
    else:
        naming.assign(obj, kinds.name(urn), seed, autonaming)
    if naming.is_generated(obj):
        raise UserError("metadata.generateName is not supported with server-side apply; set metadata.name or neither")
    _set_namespace(session, obj)
    _refuse_bad_annotations(session, urn, news, obj)
    if kinds.is_crd(obj):
        session.declare(obj)
    return checkpoint.to_properties(obj, news)


def _keep_managed_by(obj: Object, old: Object) -> None:
    """Keeps the label that client-side apply added to its objects, so that it does not show as a change."""
    manager = os.environ.get("PULUMI_KUBERNETES_MANAGED_BY_LABEL", "pulumi")
    labels = naming.metadata(old).get("labels")
    if isinstance(labels, dict) and labels.get(_MANAGED_BY) == manager:
        own = naming.metadata(obj).setdefault("labels", {})
        if isinstance(own, dict):
            own[_MANAGED_BY] = manager


def _set_namespace(session: Session, obj: Object) -> None:
    """Sets the `Provider`'s namespace on an object without one."""
    metadata = naming.metadata(obj)
    if session.namespace and not metadata.get("namespace") and session.is_namespaced(GVK.of(obj)):
        metadata["namespace"] = session.namespace


def _refuse_bad_annotations(session: Session, urn: str, news: Properties, obj: Object) -> None:
    given = checkpoint.from_properties(news)
    if object_annotations.value(given, object_annotations.AUTONAMED):
        session.engine.warn(urn, f"ignoring the annotation {object_annotations.AUTONAMED}: the provider sets it itself")
    if not has_unknown(obj):
        problem = await_ready.check_annotations(obj)
        if problem:
            raise UserError(problem)
