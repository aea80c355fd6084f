"""The operations on a resource, be it a Kubernetes object or a Helm release."""

from __future__ import annotations

from typing import Protocol

from tensorplane.plugins.kubernetes import check, create, delete, diff, read, update
from tensorplane.plugins.kubernetes.check import Autonaming
from tensorplane.plugins.kubernetes.diff import Difference
from tensorplane.plugins.kubernetes.session import Session
from tensorplane.plugins.kubernetes.values import Properties


class ResourceOperations(Protocol):
    """The engine's operations, on decoded properties."""

    def check(
        self, urn: str, olds: Properties, news: Properties, seed: bytes, autonaming: Autonaming
    ) -> Properties: ...
    def diff(
        self, urn: str, resource_id: str, state: Properties, news: Properties, ignore_changes: list[str]
    ) -> Difference: ...
    def preview_create(self, urn: str, news: Properties) -> Properties: ...
    def create(self, urn: str, news: Properties, timeout: float) -> tuple[str, Properties]: ...
    def read(
        self, urn: str, resource_id: str, inputs: Properties, state: Properties
    ) -> tuple[str, Properties, Properties]: ...
    def preview_update(
        self, urn: str, resource_id: str, state: Properties, news: Properties, ignore_changes: list[str]
    ) -> Properties: ...
    def update(
        self, urn: str, resource_id: str, state: Properties, news: Properties, ignore_changes: list[str], timeout: float
    ) -> Properties: ...
    def delete(self, urn: str, resource_id: str, state: Properties, timeout: float) -> None: ...


class ObjectOperations:
    """Kubernetes objects of any kind."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def check(self, urn: str, olds: Properties, news: Properties, seed: bytes, autonaming: Autonaming) -> Properties:
        return check.check(self._session, urn, olds, news, seed, autonaming)

    def diff(
        self, urn: str, resource_id: str, state: Properties, news: Properties, ignore_changes: list[str]
    ) -> Difference:
        return diff.diff(self._session, urn, state, news, ignore_changes)

    def preview_create(self, urn: str, news: Properties) -> Properties:
        return create.preview(self._session, urn, news)

    def create(self, urn: str, news: Properties, timeout: float) -> tuple[str, Properties]:
        return create.create(self._session, urn, news, timeout)

    def read(
        self, urn: str, resource_id: str, inputs: Properties, state: Properties
    ) -> tuple[str, Properties, Properties]:
        return read.read(self._session, urn, resource_id, inputs, state)

    def preview_update(
        self, urn: str, resource_id: str, state: Properties, news: Properties, ignore_changes: list[str]
    ) -> Properties:
        return update.preview(self._session, urn, state, news, ignore_changes)

    def update(
        self, urn: str, resource_id: str, state: Properties, news: Properties, ignore_changes: list[str], timeout: float
    ) -> Properties:
        return update.update(self._session, urn, state, news, ignore_changes, timeout)

    def delete(self, urn: str, resource_id: str, state: Properties, timeout: float) -> None:
        delete.delete(self._session, urn, resource_id, state, timeout)
