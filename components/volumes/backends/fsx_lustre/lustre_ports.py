"""The security group of an FSx for Lustre file system: only the nodes reach it, on Lustre's ports."""

import pulumi
import pulumi_aws as aws

from components.clusters.eks.native import Native

_PORTS = ((988, 988), (1018, 1023))
"""LNet's ports. FSx requires them in both directions, between its servers and between servers and clients."""

_Rule = aws.vpc.SecurityGroupIngressRule | aws.vpc.SecurityGroupEgressRule


def security_group(
    name: str, native: Native, opts: pulumi.ResourceOptions
) -> tuple[aws.ec2.SecurityGroup, list[pulumi.Resource]]:
    """The security group and its rules, with the protection of the file system."""
    group = aws.ec2.SecurityGroup(
        f"{name}-lustre",
        description=f"FSx for Lustre file system {name}: its servers and the nodes of the cluster",
        vpc_id=native.cluster.vpc_config.vpc_id,
        opts=opts,
    )
    nodes = native.security_group

    def rule(kind: type[_Rule], suffix: str, of: pulumi.Input[str], other: pulumi.Input[str]) -> list[pulumi.Resource]:
        return [
            kind(
                f"{name}-lustre-{suffix}-{low}",
                security_group_id=of,
                referenced_security_group_id=other,
                ip_protocol="tcp",
                from_port=low,
                to_port=high,
                opts=opts,
            )
            for low, high in _PORTS
        ]

    ingress, egress = aws.vpc.SecurityGroupIngressRule, aws.vpc.SecurityGroupEgressRule
    return group, [
        *rule(ingress, "from-servers", group.id, group.id),
        *rule(egress, "to-servers", group.id, group.id),
        *rule(ingress, "from-nodes", group.id, nodes),
        *rule(egress, "to-nodes", group.id, nodes),
        # Servers connect to clients to revoke locks.
        *rule(ingress, "calls-back", nodes, group.id),
    ]
