"""Update: applies new inputs to an object with server-side apply and waits until it is ready again."""

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
from tensorplane.plugins.kubernetes.normalize import normalize
from tensorplane.plugins.kubernetes.session import Session
from tensorplane.plugins.kubernetes.values import Properties, has_unknown

Object = dict[str, Any]

_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


def update(
    session: Session, urn: str, state: Properties, news: Properties, ignore_changes: list[str], timeout: float
) -> Properties:
    """The new state. A refused update leaves the new inputs in the state as not ready, so that the next one retries."""
    obj = normalize(checkpoint.from_properties(news))
    old_inputs, old = checkpoint.unpack(state)
    manager = checkpoint.field_manager(state, obj)
    resource_id = naming.object_id(old)
    failure: InitFailedError | None = None
    try:
        live = _write(session, urn, obj, old, manager, ignore_changes, dry_run=False)
        live = await_ready.wait_ready(
            session.api, live, timeout=timeout or None, cancelled=session.cancelled, log=session.status(urn)
        )
    except ApiError as error:
        reason = explain.user_error(f"{obj['kind']} {resource_id} was not updated", error, news)
        present = _read(session, old)
        if present is None:
            raise reason from None
        live = present
        failure = InitFailedError(resource_id, str(reason), [str(reason)], {})
    except await_ready.AwaitError as error:
        live = error.obj
        failure = InitFailedError.after(error, resource_id, {})
    session.status(urn)("")
    new_state = checkpoint.pack(obj, live, news, checkpoint.initial_api_version(state, old_inputs), manager)
    if failure is not None:
        failure.state = new_state
        raise failure
    previous = checkpoint.field_manager(state, old_inputs)
    if previous != manager:
        field_managers.relinquish(session.api, live, previous)
    return new_state


def preview(session: Session, urn: str, state: Properties, news: Properties, ignore_changes: list[str]) -> Properties:
    """The object as the server's dry run would update it, if that is possible."""
    obj = normalize(checkpoint.from_properties(news))
    if has_unknown(obj) or not session.knows(GVK.of(obj)):
        return news
    old_inputs, old = checkpoint.unpack(state)
    manager = checkpoint.field_manager(state, obj)
    try:
        live = _write(session, urn, obj, old, manager, ignore_changes, dry_run=True)
    except ApiError as error:
        if error.status == 403:
            return news
        raise explain.user_error(f"{obj['kind']} {naming.object_id(old)} cannot be updated", error, news) from None
    return checkpoint.pack(obj, live, news, checkpoint.initial_api_version(state, old_inputs), manager)


def _write(
    session: Session, urn: str, obj: Object, old: Object, manager: str, ignore_changes: list[str], *, dry_run: bool
) -> Object:
    api = session.api
    name, namespace = old["metadata"]["name"], old["metadata"].get("namespace")
    live = _live(session, obj, name, namespace)
    metadata = naming.metadata(obj)
    metadata.setdefault("name", name)
    if kinds.is_crd(obj):
        # A CRD is replaced as a whole, in place: its objects stay.
        metadata["resourceVersion"] = live["metadata"]["resourceVersion"]
        written = api.replace(obj, manager=manager, dry_run=dry_run)
        metadata.pop("resourceVersion")
        api.forget()
        return written
    if not dry_run and not kinds.is_patch(kinds.token(urn), obj):
        live = field_managers.hand_over(api, live, manager)
    field_managers.respect_ignored(obj, live, manager, ignore_changes)
    forced = object_annotations.is_true(obj, object_annotations.PATCH_FORCE) or session.settings.enable_patch_force
    force = forced or field_managers.must_force(obj, live, preview=dry_run)
    return api.apply(obj, manager=manager, force=force, dry_run=dry_run)


def _live(session: Session, obj: Object, name: str, namespace: str | None) -> Object:
    try:
        return session.api.get(GVK.of(obj), name, namespace)
    except ApiError as error:
        if error.not_found and not error.no_match:
            shown = f"{namespace}/{name}" if namespace else name
            hint = "create it again with `pulumi up --refresh`"
            raise UserError(f"{obj['kind']} {shown} no longer exists in the cluster; {hint}") from None
        raise


def _read(session: Session, old: Object) -> Object | None:
    metadata = old["metadata"]
    try:
        return session.api.get(GVK.of(old), metadata["name"], metadata.get("namespace"))
    except ApiError:
        return None
