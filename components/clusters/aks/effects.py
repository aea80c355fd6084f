"""Effects of updates of AKS' resources on nodes and pods."""

from tensorplane.components.clusters.effects import ROLLED, Effect, Effects

_AGENT_POOL = "azure-native:containerservice:AgentPool"

EFFECTS = Effects(
    _AGENT_POOL,
    r"(availabilityZones|gpuInstanceProfile|gpuProfile|osDiskSizeGB|scaleSetPriority|vmSize|vnetSubnetID)",
    "availabilityZones",
    False,
    (
        Effect(
            _AGENT_POOL,
            r"orchestratorVersion$",
            f"{ROLLED}; nodes of a spot pool are drained without waiting for their pods",
        ),
        Effect(
            "azure-native:containerservice:ManagedCluster",
            r"agentPoolProfiles\[\d+\]\.orchestratorVersion$",
            "the nodes of its system group are replaced one by one, and their pods restart",
        ),
    ),
    {
        "azure-native:keyvault:Key": "after 90 days nobody can decrypt what it encrypts: the cluster's etcd",
        "azure-native:operationalinsights:Workspace": "the audit log is lost",
    },
)
