"""Read: the live object behind a resource, for refresh and import."""

from __future__ import annotations

from typing import Any

from tensorplane.core.errors import ApiError, UserError
from tensorplane.core.gvk import GVK
from tensorplane.plugins.kubernetes import await_ready, checkpoint, explain, kinds, naming, zeroes
from tensorplane.plugins.kubernetes.init_failed import InitFailedError
from tensorplane.plugins.kubernetes.normalize import normalize, prune
from tensorplane.plugins.kubernetes.session import Session
from tensorplane.plugins.kubernetes.values import Properties

Object = dict[str, Any]

ABSENT: tuple[str, Properties, Properties] = ("", {}, {})

# Fields that the cluster adds to objects and programs do not write.
_SERVER_ANNOTATIONS = ("deployment.kubernetes.io/revision", "kubectl.kubernetes.io/last-applied-configuration")
_SERVER_FIELDS = ("status",)


def read(
    session: Session, urn: str, resource_id: str, inputs: Properties, state: Properties
) -> tuple[str, Properties, Properties]:
    """Id, state and inputs as in the cluster; an empty id if the object no longer exists."""
    if not session.is_reachable:
        return unreachable(session, urn, resource_id, inputs, state)
    wanted = normalize(checkpoint.from_properties(inputs))
    _, old = checkpoint.unpack(state)
    is_import = not wanted.get("kind")
    namespace, name = naming.parse_id(resource_id)
    kind = GVK.of(wanted) if not is_import else GVK.of(old) if old.get("kind") else _kind(urn)
    try:
        live = session.api.get(kind, name, namespace or naming.metadata(wanted).get("namespace"))
    except ApiError as error:
        if error.not_found:
            return ABSENT
        raise explain.user_error(f"{kind.kind} {resource_id} cannot be read", error, state) from None
    found = _importable(live) if is_import else zeroes.with_dropped(prune(live, wanted), wanted, old)
    manager = checkpoint.field_manager(state, wanted)
    version = checkpoint.initial_api_version(state, wanted) or kind.api_version
    new_state = checkpoint.pack(found, live, inputs, version, manager)
    new_inputs = checkpoint.to_properties(found, inputs)
    reasons = [] if is_import else await_ready.unready_reasons(session.api, live)
    if reasons:
        failure = InitFailedError(resource_id, f"{kind.kind} {resource_id} is not ready", reasons, new_state)
        failure.inputs = new_inputs
        raise failure
    return resource_id, new_state, new_inputs


def _kind(urn: str) -> GVK:
    kind = kinds.gvk_of_token(kinds.token(urn))
    return kind._replace(kind=kind.kind.removesuffix("Patch")) if kinds.is_built_in(kind) else kind


def _importable(live: Object) -> Object:
    """The live object as a program would have written it."""
    inputs = normalize({key: value for key, value in live.items() if key not in _SERVER_FIELDS})
    metadata = dict(inputs["metadata"])
    given = metadata.get("annotations") or {}
    annotations = {key: value for key, value in given.items() if key not in _SERVER_ANNOTATIONS}
    if "annotations" in metadata:
        metadata["annotations"] = annotations
    if not annotations:
        metadata.pop("annotations", None)
    return {**inputs, "metadata": metadata}


def unreachable(
    session: Session, urn: str, resource_id: str, inputs: Properties, state: Properties
) -> tuple[str, Properties, Properties]:
    """The answer of a read without a cluster, according to the `Provider`'s settings."""
    session.engine.warn(urn, f"the Kubernetes cluster cannot be reached: {session.unreachable}")
    if session.settings.delete_unreachable:
        session.engine.info(urn, "deleteUnreachable is set: forgetting the object without deleting it")
        return ABSENT
    if session.settings.skip_update_unreachable:
        session.engine.info(urn, "skipUpdateUnreachable is set: keeping the state as it is, which may be out of date")
        return resource_id, state, inputs
    raise UserError(
        f"the Kubernetes cluster cannot be reached ({session.unreachable}); start it, or if it is gone for good, "
        "run again with PULUMI_K8S_DELETE_UNREACHABLE=true to forget its objects"
    )
