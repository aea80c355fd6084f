"""The kubeconfig, without secrets: kubelogin gets a token from Entra when it is used."""

import base64
from typing import Any

import pulumi
import yaml
from pulumi_azure_native import containerservice, resources

from tensorplane.components.clusters.aks.context import Context

_API_VERSION = "2025-10-01"
_ENTRA_APPLICATION = "6dae42f8-4368-4678-94ff-3960e28e3630"
"""The Entra application of all AKS clusters (azure.github.io/kubelogin/concepts/aks.html)."""

_LOGIN: dict[str, Any] = {
    "apiVersion": "client.authentication.k8s.io/v1beta1",
    "command": "kubelogin",
    # With the login of `az login`; AAD_LOGIN_METHOD selects another one, such as workloadidentity in CI.
    "args": ["get-token", "--login", "azurecli", "--server-id", _ENTRA_APPLICATION],
    "installHint": "install it with: az aks install-cli",
    "interactiveMode": "IfAvailable",
    "provideClusterInfo": False,
}


def of(context: Context, cluster: containerservice.ManagedCluster, before: list[pulumi.Resource]) -> pulumi.Output[str]:
    """The kubeconfig, as JSON, which is YAML."""
    name = context.args.cluster_name
    return pulumi.Output.secret(
        _cluster_entry(context, cluster, before).apply(
            lambda entry: pulumi.Output.json_dumps(
                {
                    "apiVersion": "v1",
                    "kind": "Config",
                    "current-context": name,
                    "clusters": [{"name": name, "cluster": entry}],
                    "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
                    "users": [{"name": name, "user": {"exec": _LOGIN}}],
                }
            )
        )
    )


def _cluster_entry(
    context: Context, cluster: containerservice.ManagedCluster, before: list[pulumi.Resource]
) -> pulumi.Output[dict[str, str]]:
    """Address and certificate authority of the API server.

    Azure only returns them with a user's kubeconfig. A deployment without resources requests it: unlike a function of
    the provider, it requires no credentials in a preview.
    """
    # The name as an Output of the resource, so that the cluster exists.
    template = cluster.name.apply(lambda name: _template(name or context.args.cluster_name))
    deployment = resources.Deployment(
        f"{context.name}-kubeconfig",
        resource_group_name=context.resource_group.name,
        properties={"mode": resources.DeploymentMode.INCREMENTAL, "template": template},
        opts=context.after(cluster, *before),
    )
    return deployment.properties.apply(lambda found: _parsed(found.outputs))


def _template(name: str) -> dict[str, Any]:
    resource = f"resourceId('Microsoft.ContainerService/managedClusters', '{name}')"
    value = f"[listClusterUserCredential({resource}, '{_API_VERSION}').kubeconfigs[0].value]"
    return {
        "$schema": "https://schema.management.azure.com/schemas/2019-04-01/deploymentTemplate.json#",
        "contentVersion": "1.0.0.0",
        "resources": [],
        "outputs": {"kubeconfig": {"type": "string", "value": value}},
    }


def _parsed(outputs: Any) -> dict[str, str]:
    config = yaml.safe_load(base64.b64decode(outputs["kubeconfig"]["value"]))
    entry = config["clusters"][0]["cluster"]
    return {key: entry[key] for key in ("server", "certificate-authority-data")}
