"""Effects of updates of EKS' resources on nodes, pods and add-ons."""

from tensorplane.components.clusters.effects import ROLLED, Effect, Effects

_NODE_GROUP, _ADDON = "aws:eks/nodeGroup:NodeGroup", "aws:eks/addon:Addon"

EFFECTS = Effects(
    _NODE_GROUP,
    r"(amiType|capacityType|clusterName|diskSize|instanceTypes|nodeGroupName|nodeRoleArn|remoteAccess|subnetIds)",
    "subnetIds",
    True,
    (
        # Tags of the template do not create a new version, and its machines' tags do not depend on settings.
        Effect(
            "aws:ec2/launchTemplate:LaunchTemplate", r"(?!tags|tagSpecifications|description|latestVersion)", ROLLED
        ),
        Effect(_NODE_GROUP, r"(version|releaseVersion)$", ROLLED),
        Effect(
            _ADDON,
            r"addonVersion$",
            "keeps its version: none is pinned for this Kubernetes version; set one in cluster.addons",
            removed=True,
            stops_pods=False,
        ),
        # Without a version, EKS does not update an add-on with the cluster.
        Effect(
            "aws:eks/cluster:Cluster",
            r"version$",
            "the add-ons keep their versions: none are pinned for this Kubernetes version; set them in cluster.addons",
            unless=_ADDON,
            stops_pods=False,
        ),
        Effect(
            "karpenter.k8s.aws/v1:EC2NodeClass",
            r"spec\.",
            "Karpenter replaces the pool's nodes one by one; with accelerators, only new nodes get the change",
        ),
    ),
    {
        "aws:kms/key:Key": "after 30 days nobody can decrypt what it encrypts: the cluster's Secrets",
        "aws:cloudwatch/logGroup:LogGroup": "the control plane's logs are lost",
    },
    {"aws:autoscaling/tag:Tag": "autoscalingGroupName"},
)
