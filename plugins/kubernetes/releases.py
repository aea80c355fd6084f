"""Helm releases (`helm.sh/v3:Release`) behind the same operations as Kubernetes objects."""

from __future__ import annotations

from tensorplane.core.errors import UserError
from tensorplane.plugins.kubernetes import read
from tensorplane.plugins.kubernetes.check import Autonaming
from tensorplane.plugins.kubernetes.checkpoint import INPUTS
from tensorplane.plugins.kubernetes.diff import Difference
from tensorplane.plugins.kubernetes.helm_release import ReleaseFailedError, ReleaseResource
from tensorplane.plugins.kubernetes.init_failed import InitFailedError
from tensorplane.plugins.kubernetes.session import Session
from tensorplane.plugins.kubernetes.values import Properties, Secret


class Releases:
    """Runs each operation with helm, and reports to the engine which failures left a release."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._helm = ReleaseResource(session)

    def check(self, urn: str, olds: Properties, news: Properties, seed: bytes, autonaming: Autonaming) -> Properties:
        inputs, failures = self._helm.check(olds, news, seed, urn)
        if failures:
            raise UserError(*(f"{key}: {reason}" for key, reason in failures))
        return inputs

    def diff(
        self, urn: str, resource_id: str, state: Properties, news: Properties, ignore_changes: list[str]
    ) -> Difference:
        found = self._helm.diff(resource_id, state, _inputs(state), news, ignore_changes)
        return Difference(found.details, found.replaces, delete_before_replace=False)

    def preview_create(self, urn: str, news: Properties) -> Properties:
        return self._helm.create(urn, news, preview=True)[1]

    def create(self, urn: str, news: Properties, timeout: float) -> tuple[str, Properties]:
        try:
            return self._helm.create(urn, news, timeout=timeout or None)
        except ReleaseFailedError as error:
            raise _init_failed(error) from None

    def read(
        self, urn: str, resource_id: str, inputs: Properties, state: Properties
    ) -> tuple[str, Properties, Properties]:
        if not self._session.is_reachable:
            return read.unreachable(self._session, urn, resource_id, inputs, state)
        found = self._helm.read(resource_id, inputs, state)
        if found is None:
            return read.ABSENT
        resource_id, inputs, state = found
        return resource_id, state, inputs

    def preview_update(
        self, urn: str, resource_id: str, state: Properties, news: Properties, ignore_changes: list[str]
    ) -> Properties:
        return self._helm.update(resource_id, urn, state, news, preview=True)

    def update(
        self, urn: str, resource_id: str, state: Properties, news: Properties, ignore_changes: list[str], timeout: float
    ) -> Properties:
        try:
            return self._helm.update(resource_id, urn, state, news, timeout=timeout or None)
        except ReleaseFailedError as error:
            raise _init_failed(error) from None

    def delete(self, urn: str, resource_id: str, state: Properties, timeout: float) -> None:
        self._helm.delete(resource_id, urn, state, timeout=timeout or None)


def _inputs(state: Properties) -> Properties:
    found = state.get(INPUTS, {})
    inputs: Properties = found.value if isinstance(found, Secret) else found
    return inputs


def _init_failed(error: ReleaseFailedError) -> InitFailedError:
    return InitFailedError(error.resource_id, error.message, error.reasons or [error.message], error.outputs)
