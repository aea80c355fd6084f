"""The control plane's logs: who asked the API server to change what, and what came of it."""

from pulumi_azure_native import containerservice, monitor, operationalinsights

from components.clusters.aks.context import Context

# The log of what was changed; the one of everything read as well is many times as large.
_LOGS = ("kube-audit-admin", "guard", "kube-apiserver", "kube-controller-manager", "cluster-autoscaler")


def logs(context: Context, cluster: containerservice.ManagedCluster) -> None:
    """Send the logs to a workspace of the cluster's own."""
    workspace = operationalinsights.Workspace(
        f"{context.name}-logs",
        sku={"name": "PerGB2018"},
        retention_in_days=context.args.log_retention_days,
        opts=context.opts,
        **context.common,
    )
    monitor.DiagnosticSetting(
        f"{context.name}-logs",
        name="tensorplane",
        resource_uri=cluster.id,
        workspace_id=workspace.id,
        log_analytics_destination_type="Dedicated",
        logs=[{"category": category, "enabled": True} for category in _LOGS],
        opts=context.opts,
    )
