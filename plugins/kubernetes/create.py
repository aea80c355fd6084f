"""Create: creates an object, waits until it is ready, and returns its state."""

from __future__ import annotations

import copy
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
from tensorplane.plugins.kubernetes.values import Properties, has_unknown

Object = dict[str, Any]

# A program's objects may be created before their dependencies: a namespace, a CRD, a webhook's endpoint.
_RETRY_SECONDS = (1, 2, 4, 8, 16)


def create(session: Session, urn: str, news: Properties, timeout: float) -> tuple[str, Properties]:
    """Id and state of the new object. An error if an object with that name exists."""
    obj = checkpoint.from_properties(news)
    manager = checkpoint.field_manager({}, obj)
    headline = f"{obj['kind']} {naming.object_id(obj)} was not created"
    try:
        live = _write_with_retries(session, urn, obj, manager)
    except ApiError as error:
        raise explain.user_error(headline, error, news) from None
    session.status(urn)("")
    failure = None
    try:
        live = await_ready.wait_ready(
            session.api, live, timeout=timeout or None, cancelled=session.cancelled, log=session.status(urn)
        )
    except await_ready.AwaitError as error:
        failure, live = error, error.obj
    session.status(urn)("")
    if kinds.is_crd(obj):
        session.api.forget()
    state = checkpoint.pack(obj, live, news, obj["apiVersion"], manager)
    resource_id = naming.object_id(live)
    if failure is not None:
        raise InitFailedError.after(failure, resource_id, state)
    return resource_id, state


def preview(session: Session, urn: str, news: Properties) -> Properties:
    """The object as the server's dry run would create it if that is possible, else the inputs."""
    obj = checkpoint.from_properties(news)
    if has_unknown(obj) or kinds.is_patch(kinds.token(urn), obj) or not session.knows(GVK.of(obj)):
        return news
    manager = checkpoint.field_manager({}, obj)
    try:
        live = _write(session, urn, obj, manager, dry_run=True)
    except ApiError as error:
        if _says_nothing_about_the_object(error):
            return news
        raise explain.user_error(f"{obj['kind']} {naming.object_id(obj)} cannot be created", error, news) from None
    live.pop("status", None)
    return checkpoint.pack(obj, live, news, obj["apiVersion"], manager)


def _says_nothing_about_the_object(error: ApiError) -> bool:
    """Whether the dry run failed for lack of rights or support, or for a reason that the update will have solved."""
    if error.status == 403:
        return True
    no_dry_run = error.status == 400 and "does not support dry run" in error.message
    return error.exists or no_dry_run or (error.not_found and "namespaces" in error.message)


def _write_with_retries(session: Session, urn: str, obj: Object, manager: str) -> Object:
    for attempt, seconds in enumerate((*_RETRY_SECONDS, 0), start=1):
        try:
            return _write(session, urn, obj, manager, dry_run=False)
        except ApiError as error:
            if not seconds or not _is_temporary(error):
                raise
            reason = explain.lines(error, obj)[0]
        session.status(urn)(f"Retry #{attempt}; creation failed: {reason}")
        if session.cancelled.wait(seconds):
            raise UserError(f"creation was cancelled; the last attempt failed: {reason}")
    raise AssertionError("the last attempt returns or raises")


def _is_temporary(error: ApiError) -> bool:
    return error.not_found or error.lacks_webhook


def _write(session: Session, urn: str, obj: Object, manager: str, *, dry_run: bool) -> Object:
    upserts = session.settings.upsert_existing_objects or kinds.is_patch(kinds.token(urn), obj)
    if not upserts:
        return session.api.create(obj, manager=field_managers.CREATOR, dry_run=dry_run)
    force = (
        object_annotations.is_true(obj, object_annotations.PATCH_FORCE)
        or session.settings.enable_patch_force
        or dry_run
    )
    try:
        return session.api.apply(obj, manager=manager, force=force, dry_run=dry_run)
    except ApiError as error:
        if not (dry_run and error.reason == "Invalid" and "field is immutable" in error.message):
            raise
    # A replacement: the old object would conflict with the dry run, so it uses a free name.
    renamed = copy.deepcopy(obj)
    renamed["metadata"]["name"] = naming.unique(f"{obj['metadata']['name']}-")
    return session.api.apply(renamed, manager=manager, force=True, dry_run=True)
