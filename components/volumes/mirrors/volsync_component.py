"""Mirrors by VolSync, between any two backends: sources, destinations, and the rights of its mover pods."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pulumi
import pulumi_kubernetes as k8s

from tensorplane.components.base import outputs, pod_security
from tensorplane.components.base.labels import COMPONENT, PART_OF, labels
from tensorplane.components.namespace.component import Namespace
from tensorplane.components.volumes import storage_class_per_volume
from tensorplane.components.volumes.backend import Backend
from tensorplane.components.volumes.component import Volume
from tensorplane.components.volumes.mirrors.settings import MirrorArgs
from tensorplane.components.volumes.mirrors.volsync import receiver_name, schedule, sender_to, takes_part
from tensorplane.components.volumes.settings import VolumeArgs

API = "volsync.backube/v1alpha1"
ACCOUNT = "volume.mirrors"
"""Service account of the movers. No workload can have it, because workload names have no dots."""
PORT = 8000
"""Port of the movers."""
_MOVERS = {COMPONENT: "rsync-tls-mover", PART_OF: "volsync"}


class Movers(pulumi.ComponentResource):
    """What the mirrors of a stack share: service account, NetworkPolicy and snapshot classes of the mover pods.

    Their snapshots live for minutes, so the classes have deletion policy Delete.
    """

    def __init__(
        self,
        volumes: Mapping[str, VolumeArgs],
        *,
        backends: Iterable[Backend],
        namespace: Namespace,
        depends_on: Iterable[pulumi.Resource],
        opts: pulumi.ResourceOptions,
    ) -> None:
        super().__init__(outputs.MOVERS, ACCOUNT, {}, opts)
        self.namespace = namespace
        self.depends_on = list(depends_on)
        inside = pulumi.ResourceOptions(parent=self)
        wanted = {one for backend in backends if (one := backend.mirror_class)}
        self._classes = {
            one: one.create(f"{namespace.plain_name}-mirrors", keeps="Delete", opts=inside)
            for one in sorted(wanted, key=lambda one: (one.driver, one.parameters))
        }
        metadata: k8s.meta.v1.ObjectMetaArgsDict = {
            "name": ACCOUNT,
            "namespace": namespace.name,
            "labels": labels(ACCOUNT, "mirrors"),
        }
        k8s.core.v1.ServiceAccount(ACCOUNT, metadata=metadata, automount_service_account_token=False, opts=inside)
        k8s.networking.v1.NetworkPolicy(ACCOUNT, metadata=metadata, spec=_traffic(volumes), opts=inside)
        self.register_outputs({})

    def copied(self, backend: Backend) -> dict[str, str]:
        """The copy method of a source or destination."""
        kind = backend.mirror_class
        if kind is None:
            return {"copyMethod": "Direct"}
        return {"copyMethod": "Snapshot", "volumeSnapshotClassName": self._classes[kind]}


def mirrors(
    declared: Mapping[str, VolumeArgs],
    volumes: Mapping[str, Volume],
    backends: Mapping[str, Backend],
    *,
    namespace: Namespace,
    depends_on: Iterable[pulumi.Resource],
    opts: pulumi.ResourceOptions,
) -> None:
    """Creates the mirrors of a stack and what they share."""
    ends = {name: End(name, backends[name], volumes[name]) for name in declared if takes_part(name, declared)}
    if not ends:
        return
    shared = Movers(
        declared, backends=(end.backend for end in ends.values()), namespace=namespace, depends_on=depends_on, opts=opts
    )
    receivers = {
        name: receive(end, declared[name], shared)
        for name, end in ends.items()
        if sender_to(name, declared) or ((origin := declared[name].source) and origin.mirror)
    }
    for name, end in ends.items():
        if (mirror := declared[name].mirror) and mirror.to.by_volsync and mirror.every:
            after = [receivers[mirror.to.volume]] if mirror.to.volume else []
            send(end, mirror, mirror.every, shared, after)


@dataclass(frozen=True)
class End:
    """A volume at one end of a mirror."""

    name: str
    backend: Backend
    volume: Volume


def send(
    end: End, mirror: MirrorArgs, every: str, movers: Movers, after: Sequence[pulumi.Resource]
) -> k8s.apiextensions.CustomResource:
    """The ReplicationSource, which sends changes on its schedule."""
    backend, namespace = end.backend, movers.namespace
    sent: dict[str, Any] = {**_mover(), **movers.copied(backend)}
    if backend.mirror_class:
        if backend.class_per_volume:
            sent["storageClassName"] = storage_class_per_volume.of_copies(namespace, end.name)
        if backend.reads_snapshots:
            sent["accessModes"] = ["ReadOnlyMany"]
    if mirror.to.volume:
        sent["keySecret"] = f"volsync-rsync-tls-{mirror.to.volume}"
        sent["address"] = pulumi.Output.format("{0}.{1}.svc", receiver_name(mirror.to.volume), namespace.name)
    elif mirror.to.remote:
        remote = mirror.to.remote
        sent |= {"keySecret": remote.key_secret, "address": remote.address, "port": remote.port}
    spec = {"sourcePVC": end.name, "trigger": {"schedule": schedule(every)}, "rsyncTLS": sent}
    made = _object("ReplicationSource", end, spec, movers, [end.volume.claim, *after])
    if mirror.alert:
        _alert(end, every, namespace)
    return made


def receive(end: End, args: VolumeArgs, movers: Movers) -> k8s.apiextensions.CustomResource:
    """The ReplicationDestination, which writes to the volume's claim. Deleting it keeps the claim.

    VolSync creates the key of both sides in a Secret named after this object; Pulumi does not manage it.
    """
    taken: dict[str, Any] = {**_mover(), **movers.copied(end.backend), "destinationPVC": end.name}
    if args.source and args.source.mirror:
        outside = args.source.mirror
        taken["serviceType"] = "LoadBalancer" if outside.expose == "loadBalancer" else "ClusterIP"
        if outside.key_secret:
            taken["keySecret"] = outside.key_secret
    return _object("ReplicationDestination", end, {"rsyncTLS": taken}, movers, [end.volume.claim])


def _object(
    kind: str, end: End, spec: Mapping[str, Any], movers: Movers, after: Sequence[pulumi.Resource]
) -> k8s.apiextensions.CustomResource:
    return k8s.apiextensions.CustomResource(
        end.name,
        api_version=API,
        kind=kind,
        metadata={"name": end.name, "namespace": movers.namespace.name, "labels": labels(end.name, "mirrors")},
        spec=spec,
        opts=pulumi.ResourceOptions(parent=end.volume, depends_on=[*after, movers, *movers.depends_on]),
    )


def _mover() -> dict[str, Any]:
    """Settings of the mover pods: same user as workloads, no API rights."""
    return {
        "moverServiceAccount": ACCOUNT,
        "moverSecurityContext": pod_security.pod(),
        "moverResources": {"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"memory": "1Gi"}},
    }


def _traffic(volumes: Mapping[str, VolumeArgs]) -> k8s.networking.v1.NetworkPolicySpecArgsDict:
    """Movers reach each other. Those of other clusters have no labels here; the pre-shared key authenticates them."""
    movers: k8s.networking.v1.NetworkPolicyPeerArgsDict = {"pod_selector": {"match_labels": _MOVERS}}
    here: list[k8s.networking.v1.NetworkPolicyPortArgsDict] = [{"protocol": "TCP", "port": PORT}]
    from_outside = any(args.source is not None and args.source.mirror is not None for args in volumes.values())
    ports = {args.mirror.to.remote.port for args in volumes.values() if args.mirror and args.mirror.to.remote}
    away: list[k8s.networking.v1.NetworkPolicyEgressRuleArgsDict] = [
        {"ports": [{"protocol": "TCP", "port": port}]} for port in sorted(ports)
    ]
    return {
        "pod_selector": {"match_labels": _MOVERS},
        "policy_types": ["Ingress", "Egress"],
        "ingress": [{"ports": here} if from_outside else {"from_": [movers], "ports": here}],
        "egress": [{"to": [movers], "ports": here}, *away],
    }


def _alert(end: End, every: str, namespace: Namespace) -> None:
    """Alert when a copy is late, by VolSync's metric."""
    which = f'obj_namespace="{namespace.plain_name}", obj_name="{end.name}", role="source"'
    rule = {
        "alert": "MirrorLate",
        "expr": f"volsync_volume_out_of_sync{{{which}}} == 1",
        "for": every,
        "labels": {"severity": "warning", "volume": end.name},
        "annotations": {"summary": f"The mirror of volume {end.name} is older than {every}."},
    }
    k8s.apiextensions.CustomResource(
        f"mirror-{end.name}",
        api_version="monitoring.coreos.com/v1",
        kind="PrometheusRule",
        metadata={"name": f"mirror-{end.name}", "namespace": namespace.name, "labels": labels(end.name, "mirrors")},
        spec={"groups": [{"name": f"mirror-{end.name}", "rules": [rule]}]},
        opts=pulumi.ResourceOptions(parent=end.volume),
    )
