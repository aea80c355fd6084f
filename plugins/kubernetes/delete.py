"""Delete: deletes an object and waits until it and its dependents no longer exist."""

from __future__ import annotations

from typing import Any

from tensorplane.core.errors import ApiError, UserError
from tensorplane.core.gvk import GVK
from tensorplane.plugins.kubernetes import (
    await_ready,
    checkpoint,
    explain,
    field_managers,
    kinds,
    naming,
    object_annotations,
)
from tensorplane.plugins.kubernetes.init_failed import InitFailedError
from tensorplane.plugins.kubernetes.session import Session
from tensorplane.plugins.kubernetes.values import Properties

Object = dict[str, Any]


def delete(session: Session, urn: str, resource_id: str, state: Properties, timeout: float) -> None:
    """Returns once the object is deleted; succeeds if it, or its kind, no longer exists."""
    inputs, live = checkpoint.unpack(state)
    if not session.is_reachable and _may_forget(session, urn):
        return
    _, name = naming.parse_id(resource_id)
    manager = checkpoint.field_manager(state, inputs)
    try:
        if kinds.is_patch(kinds.token(urn), live):
            field_managers.relinquish(session.api, live, manager)
            return
        namespace = naming.metadata(live).get("namespace")
        session.api.delete(GVK.of(live), name, namespace, propagation=object_annotations.propagation(inputs))
        await_ready.wait_deleted(
            session.api, live, timeout=timeout or None, cancelled=session.cancelled, log=session.status(urn)
        )
    except ApiError as error:
        if not error.not_found:
            raise explain.user_error(
                f"{live['kind']} {resource_id} was not deleted", _for_patch(error), state
            ) from None
    except await_ready.AwaitError as error:
        packed = checkpoint.pack(inputs, error.obj, state, checkpoint.initial_api_version(state, inputs), manager)
        raise InitFailedError.after(error, resource_id, packed) from None
    if kinds.is_crd(live):
        session.api.forget()
    session.status(urn)("")


def _may_forget(session: Session, urn: str) -> bool:
    session.engine.warn(urn, f"the Kubernetes cluster cannot be reached: {session.unreachable}")
    if session.settings.delete_unreachable:
        session.engine.info(urn, "deleteUnreachable is set: forgetting the object without deleting it")
        return True
    raise UserError(
        f"the Kubernetes cluster cannot be reached ({session.unreachable}); start it, or if it is gone for good, "
        "run again with PULUMI_K8S_DELETE_UNREACHABLE=true to forget its objects"
    )


def _for_patch(error: ApiError) -> ApiError:
    """The error, with a remedy if it would give up a required field that no other manager owns."""
    required = [cause.get("field", "") for cause in error.causes if cause.get("reason") == "FieldValueRequired"]
    if not required:
        return error
    message = (
        f"the Patch resource alone manages the required field {', '.join(required)}; set retain_on_delete, or let "
    )
    return ApiError(error.status, "PatchOfRequiredField", message + "another manager own it first")
