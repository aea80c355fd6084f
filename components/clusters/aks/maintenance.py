"""When Azure upgrades the cluster and its nodes' operating system."""

import pulumi
from pulumi_azure_native import containerservice

from components.clusters.aks.context import Context

# AKS' names of the windows' purposes.
_WINDOWS = {"upgrades": "aksManagedAutoUpgradeSchedule", "node-os": "aksManagedNodeOSUpgradeSchedule"}


def windows(context: Context, cluster: containerservice.ManagedCluster) -> list[pulumi.Resource]:
    """One weekly window for both."""
    wanted = context.args.maintenance
    return [
        containerservice.MaintenanceConfiguration(
            f"{context.name}-{suffix}",
            resource_group_name=context.group.name,
            resource_name_=cluster.name,
            config_name=name,
            maintenance_window={
                "schedule": {"weekly": {"day_of_week": wanted.day, "interval_weeks": 1}},
                "start_time": wanted.start,
                "duration_hours": wanted.hours,
                "utc_offset": "+00:00",
            },
            opts=context.opts,
        )
        for suffix, name in _WINDOWS.items()
    ]
