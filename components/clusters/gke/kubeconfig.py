"""The kubeconfig, without secrets: Google's auth plugin logs in when it is used."""

from typing import Any

import pulumi
from pulumi_gcp import container

from tensorplane.components.clusters.gke.settings import GkeSettings

_LOGIN = {
    "apiVersion": "client.authentication.k8s.io/v1beta1",
    "command": "gke-gcloud-auth-plugin",
    "installHint": "install it with: gcloud components install gke-gcloud-auth-plugin",
    "interactiveMode": "IfAvailable",
    "provideClusterInfo": True,
}


def of(cluster: container.Cluster, args: GkeSettings) -> pulumi.Output[str]:
    """The kubeconfig. It uses the DNS-based endpoint if that is enabled, because IAM allows it from everywhere."""
    entry = {"name": args.cluster_name}
    return pulumi.Output.json_dumps(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": args.cluster_name,
            "clusters": [{**entry, "cluster": _by_name(cluster) if args.endpoint.dns else _by_address(cluster)}],
            "contexts": [{**entry, "context": {"cluster": args.cluster_name, "user": args.cluster_name}}],
            "users": [{**entry, "user": {"exec": _LOGIN}}],
        }
    )


def _by_name(cluster: container.Cluster) -> dict[str, Any]:
    # Its certificate is from a public authority.
    endpoint = cluster.control_plane_endpoints_config.dns_endpoint_config.endpoint
    return {"server": pulumi.Output.format("https://{0}", endpoint)}


def _by_address(cluster: container.Cluster) -> dict[str, Any]:
    return {
        "server": pulumi.Output.format("https://{0}", cluster.endpoint),
        "certificate-authority-data": cluster.master_auth.cluster_ca_certificate,
    }
