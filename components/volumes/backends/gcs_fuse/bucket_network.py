"""Access of pods to Cloud Storage: a NetworkPolicy, and private addresses of Google's network."""

import ipaddress
from collections.abc import Sequence

import pulumi
import pulumi_kubernetes as k8s
from pulumi_gcp import dns

from tensorplane.components.base.labels import labels
from tensorplane.components.clusters.component import Cluster
from tensorplane.components.clusters.gke import access
from tensorplane.components.clusters.gke.native import Native
from tensorplane.components.namespace.component import Namespace
from tensorplane.components.volumes.backends.gcs_fuse.settings import REACHES

_HOST = "storage.googleapis.com."
PRIVATE = "199.36.153.8/30"
"""private.googleapis.com: Google's APIs for machines without a public address (VPC, Private Google Access)."""
_NAME = "cloud-storage"
# The metadata server, as pods address it and after the node's translation (GKE, "Workload Identity Federation").
_METADATA = (("169.254.169.254/32", 80), ("169.254.169.252/32", 988))


def open_way(cluster: Cluster, namespace: Namespace, addresses: Sequence[str]) -> Sequence[pulumi.Resource]:
    """Allows pods that mount a bucket to reach Cloud Storage."""
    own = not cluster.args.existing_network
    reached = sorted(set(addresses)) or [PRIVATE]
    egress: list[k8s.networking.v1.NetworkPolicyEgressRuleArgsDict] = [
        {"to": [{"ip_block": {"cidr": cidr}}], "ports": [{"protocol": "TCP", "port": port}]}
        for cidr, port in (*((cidr, 443) for cidr in reached), *_METADATA)
    ]
    policy = k8s.networking.v1.NetworkPolicy(
        f"{namespace.plain_name}-{_NAME}",
        metadata={"name": _NAME, "namespace": namespace.name, "labels": labels(namespace.plain_name, "network")},
        spec={
            "pod_selector": {"match_labels": {REACHES: _NAME}},
            "policy_types": ["Egress"],
            "egress": egress,
        },
        opts=pulumi.ResourceOptions(parent=namespace),
    )
    return [policy, *(_resolved(cluster, reached) if own else ())]


def _resolved(cluster: Cluster, addresses: Sequence[str]) -> Sequence[pulumi.Resource]:
    """A private DNS zone with these addresses, so that a NetworkPolicy can allow them."""
    native: Native = cluster.native
    inside = pulumi.ResourceOptions(parent=cluster, provider=native.provider)
    api = access.switched_on(cluster.name, "dns", inside)
    zone = dns.ManagedZone(
        f"{cluster.name}-{_NAME}",
        dns_name=_HOST,
        description=f"Cloud Storage for the pods of the GKE cluster {cluster.name}, inside Google's network",
        visibility="private",
        private_visibility_config={"networks": [{"network_url": native.network.network}]},
        opts=pulumi.ResourceOptions.merge(inside, pulumi.ResourceOptions(depends_on=[api])),
    )
    record = dns.RecordSet(
        f"{cluster.name}-{_NAME}",
        managed_zone=zone.name,
        name=_HOST,
        type="A",
        ttl=300,
        rrdatas=[str(address) for cidr in addresses for address in ipaddress.ip_network(cidr)],
        opts=inside,
    )
    return [record]
