"""How programs reach the cluster: a kubeconfig that asks AWS for a token each time, and the provider that uses it."""

from typing import Any

import pulumi
import pulumi_aws as aws
import pulumi_kubernetes as k8s

from components.clusters.eks.context import Context

_API = "client.authentication.k8s.io/v1beta1"


def kubeconfig(context: Context, cluster: aws.eks.Cluster) -> pulumi.Output[str]:
    """The kubeconfig, as JSON, which is YAML. It holds no token: whoever uses it needs rights of their own."""
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
    """The provider of everything inside the cluster.

    It comes after the node groups, so that destroying the stack deletes what is inside while there are nodes to run
    the controllers that clean up: load balancers and disks would be left behind otherwise.
    """
    options = pulumi.ResourceOptions(parent=context.opts.parent, depends_on=before)
    # By its ARN, a cluster stays the same one whatever changes in the kubeconfig.
    return k8s.Provider(context.name, kubeconfig=kubeconfig, cluster_identifier=cluster.arn, opts=options)
