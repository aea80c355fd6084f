"""Buckets as volumes: Mountpoint's driver, its rights on each bucket, and the claim."""

from collections.abc import Sequence

import pulumi
import pulumi_aws as aws
import pulumi_kubernetes as k8s

from tensorplane.components.base import pod_security, quantities
from tensorplane.components.base.produced import as_input
from tensorplane.components.clusters.eks import addons
from tensorplane.components.clusters.eks.native import Native, short_name
from tensorplane.components.volumes import static
from tensorplane.components.volumes.backend import Request
from tensorplane.components.volumes.backends.s3 import bucket, bucket_mirror, bucket_rights
from tensorplane.components.volumes.backends.s3.settings import S3Settings
from tensorplane.components.volumes.base_settings import VolumeSettings


def driver(native: Native) -> Sequence[pulumi.Resource]:
    """The driver. Its role only has the rights that volumes add."""
    installed = addons.of_volumes(native, "aws-mountpoint-s3-csi-driver")
    return [installed.addon, *([installed.role.role] if installed.role else [])]


def claim(args: S3Settings, request: Request, opts: pulumi.ResourceOptions) -> k8s.core.v1.PersistentVolumeClaim:
    """The bucket if it is new, and a claim that is bound to it."""
    native: Native = request.cluster.native
    name = f"{request.namespace.plain_name}-{request.name}"
    retained = pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(provider=native.provider))
    unprotected = pulumi.ResourceOptions(parent=opts.parent, provider=native.provider)
    guards: Sequence[pulumi.Resource] = ()
    bucket_name: pulumi.Input[str]
    if args.bucket:
        bucket_name = as_input(args.bucket)
        arn = pulumi.Output.concat(f"arn:{native.context.partition}:s3:::", bucket_name)
    else:
        made = _new(args, request, name, retained)
        bucket_name, arn, guards = made.bucket.id, made.bucket.arn, made.guards
    writes = bucket_rights.writes(request.access_modes)
    (role,) = (one for one in request.installed if isinstance(one, aws.iam.Role))
    policy = pulumi.Output.all(arn, as_input(args.kms_key)).apply(
        lambda found: bucket_rights.policy(args, found[0], found[1], writes=writes)
    )
    rights = aws.iam.RolePolicy(name, role=role.id, policy=policy, opts=unprotected)
    mounted: k8s.core.v1.PersistentVolumeSpecArgsDict = {
        "mount_options": _mount_options(args, args.region or native.context.region, writes=writes),
        "csi": {
            "driver": "s3.csi.aws.com",
            # Kubernetes requires a unique handle for each volume.
            "volume_handle": name,
            "volume_attributes": {
                "bucketName": bucket_name,
                "authenticationSource": "driver",
                **_cache(args, request.args),
            },
        },
    }
    return static.claim(request, opts, mounted, depends_on=[rights, *guards])


def _new(args: S3Settings, request: Request, name: str, retained: pulumi.ResourceOptions) -> bucket.Bucket:
    context = request.cluster.native.context
    mirror = request.args.mirror
    made = bucket.make(
        short_name(name),
        name,
        retained,
        kms_key=args.kms_key,
        keep_replaced_days=args.keep_replaced_days,
        emptied=not request.args.retain,
    )
    if mirror and mirror.to.region:
        bucket_mirror.mirror(
            context, name, made, args, region=mirror.to.region, in_time=mirror.every is not None, opts=retained
        )
    return made


def _mount_options(args: S3Settings, region: str, *, writes: bool) -> list[str]:
    options = [f"region {region}", f"uid={pod_security.USER}", f"gid={pod_security.USER}", "allow-other"]
    if args.prefix:
        options.append(f"prefix {args.prefix}/")
    # Files can be replaced completely, but not modified in place.
    return [*options, "allow-delete", "allow-overwrite"] if writes else [*options, "read-only"]


def _cache(args: S3Settings, volume: VolumeSettings) -> dict[str, pulumi.Input[str]]:
    """The cache with a size limit, so that it cannot fill the node's disk."""
    if volume.cache is None:
        return {}
    size = quantities.gibibytes(volume.cache.size_gib)
    if args.cache_class:
        return {
            "cache": "ephemeral",
            "cacheEphemeralStorageClassName": as_input(args.cache_class),
            "cacheEphemeralStorageResourceRequest": size,
        }
    return {"cache": "emptyDir", "cacheEmptyDirSizeLimit": size}
