"""The control plane's logs, with the audit log of changes."""

from pulumi_azure_native import containerservice, monitor, operationalinsights

from components.clusters.aks.context import Context

# The audit log of changes; the one that includes reads is many times as large.
_LOGS = ("kube-audit-admin", "guard", "kube-apiserver", "kube-controller-manager", "cluster-autoscaler")


def logs(context: Context, cluster: containerservice.ManagedCluster) -> None:
    """Sends the logs to the cluster's own Log Analytics workspace."""
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
