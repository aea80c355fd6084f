"""One EFS file system: mount targets, access point, backups, replication, and the claim."""

import pulumi
import pulumi_aws as aws
import pulumi_kubernetes as k8s

from tensorplane.components.base import pod_security
from tensorplane.components.base.labels import ZONE
from tensorplane.components.base.produced import as_input
from tensorplane.components.clusters.eks.native import Native
from tensorplane.components.volumes import static
from tensorplane.components.volumes.backend import Request
from tensorplane.components.volumes.backends.efs.settings import EfsSettings
from tensorplane.components.volumes.snapshots import aws_backup_plan

_NFS = 2049


def claim(args: EfsSettings, request: Request, opts: pulumi.ResourceOptions) -> k8s.core.v1.PersistentVolumeClaim:
    """The file system and a claim that is bound to it."""
    native: Native = request.cluster.native
    name = f"{request.namespace.plain_name}-{request.name}"
    retained = pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(provider=native.provider))
    unprotected = pulumi.ResourceOptions(parent=opts.parent, provider=native.provider)
    zones = request.args.placement.zones if request.args.placement else ()
    system = aws.efs.FileSystem(
        name,
        encrypted=True,
        kms_key_id=as_input(args.kms_key),
        availability_zone_name=zones[0] if zones else None,
        throughput_mode="elastic",
        tags={"Name": name},
        opts=retained,
    )
    targets = _targets(name, system, native, zones or tuple(native.subnets.by_zone), unprotected)
    # Protected too: deleting it keeps the files, but their directory would have no access point.
    folder = aws.efs.AccessPoint(
        name,
        file_system_id=system.id,
        posix_user={"uid": pod_security.USER, "gid": pod_security.USER},
        root_directory={
            "path": "/volume",
            "creation_info": {"owner_uid": pod_security.USER, "owner_gid": pod_security.USER, "permissions": "0770"},
        },
        tags={"Name": name},
        opts=retained,
    )
    if request.args.snapshots:
        aws_backup_plan.plan(native.context, name, request.args.snapshots, system.arn, retained, kms_key=args.kms_key)
    if request.args.mirror and request.args.mirror.to.region:
        aws.efs.ReplicationConfiguration(
            name,
            source_file_system_id=system.id,
            destination={"region": request.args.mirror.to.region, "kms_key_id": as_input(args.mirror_kms_key)},
            opts=unprotected,
        )
    spec: k8s.core.v1.PersistentVolumeSpecArgsDict = {
        "mount_options": ["tls"],
        "csi": {"driver": "efs.csi.aws.com", "volume_handle": pulumi.Output.concat(system.id, "::", folder.id)},
    }
    if zones:
        # A One Zone file system is reachable only in its zone; its DNS name does not resolve in others.
        here: k8s.core.v1.NodeSelectorTermArgsDict = {
            "match_expressions": [{"key": ZONE, "operator": "In", "values": list(zones)}]
        }
        spec["node_affinity"] = {"required": {"node_selector_terms": [here]}}
    return static.claim(request, opts, spec, depends_on=targets)


def _targets(
    name: str, system: aws.efs.FileSystem, native: Native, zones: tuple[str, ...], opts: pulumi.ResourceOptions
) -> list[pulumi.Resource]:
    """Mount targets in each zone, reachable only from the nodes."""
    group = aws.ec2.SecurityGroup(
        f"{name}-efs",
        description=f"EFS file system {name}: from the nodes of the cluster",
        vpc_id=native.cluster.vpc_config.vpc_id,
        opts=opts,
    )
    rule = aws.vpc.SecurityGroupIngressRule(
        f"{name}-efs",
        security_group_id=group.id,
        referenced_security_group_id=native.security_group,
        ip_protocol="tcp",
        from_port=_NFS,
        to_port=_NFS,
        opts=opts,
    )
    targets = [
        aws.efs.MountTarget(
            f"{name}-{zone}",
            file_system_id=system.id,
            subnet_id=native.subnets.by_zone[zone],
            security_groups=[group.id],
            opts=opts,
        )
        for zone in sorted(zones)
    ]
    return [rule, *targets]
