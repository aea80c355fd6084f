"""Which objects are awaited, and how: built-in kinds, the waitFor annotation, or all kinds if enabled."""

from __future__ import annotations

import os

from tensorplane.core.gvk import GVK
from tensorplane.plugins.kubernetes import (
    await_deployment,
    await_generic,
    await_job,
    await_network,
    await_pod,
    await_replicas,
    await_storage,
)
from tensorplane.plugins.kubernetes.await_annotations import WAIT_FOR, annotation, skips_await, wait_for
from tensorplane.plugins.kubernetes.await_result import Awaiter, Object

# By group and kind, since the versions of a kind have the same meaning.
_BUILT_IN = {
    "Deployment.apps": await_deployment.AWAITER,
    "StatefulSet.apps": await_replicas.STATEFUL_SET,
    "DaemonSet.apps": await_replicas.DAEMON_SET,
    "ReplicationController": await_replicas.REPLICATION_CONTROLLER,
    "Job.batch": await_job.AWAITER,
    "Pod": await_pod.AWAITER,
    "PersistentVolume": await_storage.VOLUME,
    "PersistentVolumeClaim": await_storage.CLAIM,
    "Service": await_network.SERVICE,
    "Ingress.networking.k8s.io": await_network.INGRESS,
    "Namespace": await_generic.NAMESPACE,
    "ResourceQuota": await_generic.QUOTA,
    "Secret": await_generic.SECRET,
    "CustomResourceDefinition.apiextensions.k8s.io": await_generic.CRD,
}

# pulumi-kubernetes keeps an old bug for these kinds (its issues 1232 and 3154): with skipAwait, deletions do not wait
# either.
_SKIPPED_ON_DELETE = {
    "Namespace",
    "Pod",
    "ReplicationController",
    "DaemonSet.apps",
    "Deployment.apps",
    "StatefulSet.apps",
    "Job.batch",
}


def awaiter(obj: Object) -> Awaiter | None:
    """How to wait for this object, None if it is not awaited. Raises ValueError for a malformed annotation."""
    if skips_await(obj):
        return None
    custom = wait_for(obj)
    if custom is not None:
        return Awaiter(custom)
    built_in = _BUILT_IN.get(GVK.of(obj).group_kind)
    if built_in is None and os.environ.get("PULUMI_K8S_AWAIT_ALL") == "true":
        return await_generic.AWAITER
    return built_in


def read_awaiter(obj: Object) -> Awaiter | None:
    """What a refresh checks: the built-in kinds whose readiness one read shows, unless they use waitFor."""
    if skips_await(obj) or annotation(obj, WAIT_FOR):
        return None
    built_in = _BUILT_IN.get(GVK.of(obj).group_kind)
    return built_in if built_in is not None and built_in.on_read else None


def deletion_is_awaited(obj: Object) -> bool:
    return not (skips_await(obj) and GVK.of(obj).group_kind in _SKIPPED_ON_DELETE)
