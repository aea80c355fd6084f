"""Who reaches an FSx for Lustre file system: the cluster's nodes, on Lustre's ports, and nobody else."""

from typing import TYPE_CHECKING

import pulumi
import pulumi_aws as aws

if TYPE_CHECKING:
    from components.eks.creation import Native

_PORTS = ((988, 988), (1018, 1023))
"""Of LNet, as FSx wants them open both ways: among its own servers, and between them and their clients."""


def security_group(
    name: str, native: "Native", opts: pulumi.ResourceOptions
) -> tuple[aws.ec2.SecurityGroup, list[pulumi.Resource]]:
    """The file system's group and its rules, which are kept as long as the file system is."""
    group = aws.ec2.SecurityGroup(
        f"{name}-lustre",
        description=f"FSx for Lustre file system {name}: its servers and the nodes of the cluster",
        vpc_id=native.cluster.vpc_config.vpc_id,
        opts=opts,
    )
    nodes = native.security_group
    rules: list[pulumi.Resource] = []
    for low, high in _PORTS:
        for peer, other in (("servers", group.id), ("nodes", nodes)):
            rules += [
                aws.vpc.SecurityGroupIngressRule(
                    f"{name}-lustre-from-{peer}-{low}",
                    security_group_id=group.id,
                    referenced_security_group_id=other,
                    ip_protocol="tcp",
                    from_port=low,
                    to_port=high,
                    opts=opts,
                ),
                aws.vpc.SecurityGroupEgressRule(
                    f"{name}-lustre-to-{peer}-{low}",
                    security_group_id=group.id,
                    referenced_security_group_id=other,
                    ip_protocol="tcp",
                    from_port=low,
                    to_port=high,
                    opts=opts,
                ),
            ]
        # Servers call back: locks are taken from clients that way.
        rules.append(
            aws.vpc.SecurityGroupIngressRule(
                f"{name}-lustre-calls-back-{low}",
                security_group_id=nodes,
                referenced_security_group_id=group.id,
                ip_protocol="tcp",
                from_port=low,
                to_port=high,
                opts=opts,
            )
        )
    return group, rules
