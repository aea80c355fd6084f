"""The API server of an embedded cluster for its administrator who asks on behalf of others."""

from __future__ import annotations

from tensorplane.core import kubeconfig
from tensorplane.core.api_connection import Connection
from tensorplane.core.kube import Kube
from tensorplane.core.kubeconfig import Access
from tensorplane.embedded.instance import Instance


def impersonated(instance: Instance, user: str, *groups: str) -> Kube:
    """The API for a user of these groups, and of those that the API server adds."""
    own = kubeconfig.access_of(instance.kubeconfig)
    return Kube(Connection(Access(own.cluster, {**own.user, "as": user, "as-groups": list(groups)})))
