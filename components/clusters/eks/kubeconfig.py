"""The kubeconfig, which gets a token from AWS each time, and the provider that uses it."""

from typing import Any

import pulumi
import pulumi_aws as aws
import pulumi_kubernetes as k8s

from tensorplane.components.clusters.eks.context import Context
from tensorplane.components.clusters.settings import cluster_provider

_API = "client.authentication.k8s.io/v1beta1"


def kubeconfig(context: Context, cluster: aws.eks.Cluster) -> pulumi.Output[str]:
    """The kubeconfig, as JSON, which is YAML. It has no token: users authenticate with their own AWS credentials."""
    command: dict[str, Any] = {
        "apiVersion": _API,
        "command": "aws",
        "args": ["--region", context.region, "eks", "get-token", "--cluster-name", cluster.name, "--output", "json"],
        "interactiveMode": "Never",
    }
    name = context.cluster_name
    return pulumi.Output.secret(
        pulumi.Output.json_dumps(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "current-context": name,
                "clusters": [
                    {
                        "name": name,
                        "cluster": {
                            "server": cluster.endpoint,
                            "certificate-authority-data": cluster.certificate_authority.data,
                        },
                    }
                ],
                "users": [{"name": name, "user": {"exec": command}}],
                "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
            }
        )
    )


def provider(
    context: Context, cluster: aws.eks.Cluster, kubeconfig: pulumi.Output[str], before: list[pulumi.Resource]
) -> k8s.Provider:
    """The provider of all objects in the cluster.

    It depends on the node groups, so that destroying the stack deletes the objects while there are nodes to run the
    controllers that delete load balancers and disks.
    """
    options = pulumi.ResourceOptions(parent=context.opts.parent, depends_on=before)
    return cluster_provider(context.name, kubeconfig, cluster.arn, options)
