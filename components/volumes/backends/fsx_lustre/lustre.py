"""One FSx for Lustre file system: security group, backups, linked bucket, and the claim."""

import pulumi
import pulumi_aws as aws
import pulumi_kubernetes as k8s

from tensorplane.components.base.labels import ZONE
from tensorplane.components.base.produced import as_input
from tensorplane.components.clusters.eks.native import Native
from tensorplane.components.volumes import static
from tensorplane.components.volumes.backend import Request
from tensorplane.components.volumes.backends.fsx_lustre.settings import FsxLustreSettings, Repository
from tensorplane.components.volumes.snapshots import aws_backup_plan

_VERSION = "2.15"
"""Lustre's version, the newest of FSx. Amazon Linux 2023 has its client."""
_DEPLOYMENTS = {"persistent": "PERSISTENT_2", "scratch": "SCRATCH_2"}
_USUAL_THROUGHPUT = 125
_EVENTS = ["NEW", "CHANGED", "DELETED"]


def claim(args: FsxLustreSettings, request: Request, opts: pulumi.ResourceOptions) -> k8s.core.v1.PersistentVolumeClaim:
    """The file system and a claim that is bound to it."""
    native: Native = request.cluster.native
    name = f"{request.namespace.plain_name}-{request.name}"
    retained = pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(provider=native.provider))
    unprotected = pulumi.ResourceOptions(parent=opts.parent, provider=native.provider)
    system = _file_system(name, args, request, retained)
    if request.args.snapshots:
        aws_backup_plan.plan(native.context, name, request.args.snapshots, system.arn, retained)
    linked = [_link(name, args.repository, system, unprotected)] if args.repository else []
    zones = request.args.placement.zones if request.args.placement else ()
    return static.claim(request, opts, _spec(system, zones), depends_on=linked)


def _file_system(
    name: str, args: FsxLustreSettings, request: Request, retained: pulumi.ResourceOptions
) -> aws.fsx.LustreFileSystem:
    native: Native = request.cluster.native
    placement, source = request.args.placement, request.args.source
    zone = placement.zones[0] if placement else native.context.args.subnet_zones[0]
    persistent = args.deployment == "persistent"
    group, rules = security_group(name, native, retained)
    return aws.fsx.LustreFileSystem(
        name,
        subnet_ids=native.subnets.by_zone[zone],
        security_group_ids=[group.id],
        deployment_type=_DEPLOYMENTS[args.deployment],
        storage_type="SSD",
        storage_capacity=int(request.args.size_gib),
        per_unit_storage_throughput=args.throughput or _USUAL_THROUGHPUT if persistent else None,
        metadata_configuration={"mode": "AUTOMATIC"} if persistent else None,
        file_system_type_version=_VERSION,
        data_compression_type="LZ4" if args.compression else "NONE",
        kms_key_id=as_input(args.kms_key),
        backup_id=source.snapshot if source else None,
        # If a retained one is deleted nevertheless, a final backup remains, if FSx supports it.
        skip_final_backup=not (request.args.retain and args.backs_up),
        tags={"Name": name},
        opts=pulumi.ResourceOptions.merge(
            retained,
            pulumi.ResourceOptions(
                # FSx checks the rules at creation.
                depends_on=rules,
                # The backup applies only at creation. Without placement, a new first zone must not replace it.
                ignore_changes=["backupId", *([] if placement else ["subnetIds"])],
            ),
        ),
    )


def _link(
    name: str, repository: Repository, system: aws.fsx.LustreFileSystem, opts: pulumi.ResourceOptions
) -> aws.fsx.DataRepositoryAssociation:
    """The association with the bucket. Deleting it keeps files and objects."""
    prefix = f"{repository.prefix}/" if repository.prefix else ""
    policies: aws.fsx.DataRepositoryAssociationS3ArgsDict = {}
    if repository.imports:
        policies["auto_import_policy"] = {"events": _EVENTS}
    if repository.exports:
        policies["auto_export_policy"] = {"events": _EVENTS}
    return aws.fsx.DataRepositoryAssociation(
        name,
        file_system_id=system.id,
        file_system_path="/",
        data_repository_path=pulumi.Output.concat("s3://", as_input(repository.bucket), "/", prefix),
        batch_import_meta_data_on_create=repository.imports,
        delete_data_in_filesystem=False,
        s3=policies,
        opts=opts,
    )


def _spec(system: aws.fsx.LustreFileSystem, zones: tuple[str, ...]) -> k8s.core.v1.PersistentVolumeSpecArgsDict:
    spec: k8s.core.v1.PersistentVolumeSpecArgsDict = {
        # The root directory of a new file system belongs to root. The kubelet changes its group before the first pod
        # starts, but with the driver's fsGroupPolicy ReadWriteOnceWithFSType only if the volume has an fsType and the
        # mode ReadWriteOnce. The driver receives the first mode.
        "access_modes": ["ReadWriteMany", "ReadWriteOnce"],
        "mount_options": ["flock", "noatime"],
        "csi": {
            "driver": "fsx.csi.aws.com",
            "fs_type": "lustre",
            "volume_handle": system.id,
            "volume_attributes": {"dnsname": system.dns_name, "mountname": system.mount_name},
        },
    }
    if zones:
        # Reachable from every zone; this avoids charges for cross-zone traffic.
        here: k8s.core.v1.NodeSelectorTermArgsDict = {
            "match_expressions": [{"key": ZONE, "operator": "In", "values": list(zones)}]
        }
        spec["node_affinity"] = {"required": {"node_selector_terms": [here]}}
    return spec


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
