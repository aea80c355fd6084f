"""One Cloud Storage bucket: permissions, mirror, and the claim."""

from collections.abc import Iterator, Sequence

import pulumi
import pulumi_gcp as gcp
import pulumi_kubernetes as k8s

from tensorplane.components.base import pod_security, quantities
from tensorplane.components.base.model import In
from tensorplane.components.base.produced import as_input
from tensorplane.components.clusters.gke import access
from tensorplane.components.clusters.gke.native import Native, short_name
from tensorplane.components.volumes import members, static
from tensorplane.components.volumes.backend import Request
from tensorplane.components.volumes.backends.gcs_fuse.settings import EVERYBODY, GcsFuseSettings

_UNDELETE_SECONDS = 7 * 24 * 3600
_NAME_LIMIT = 50
"""Characters of a name: a bucket may have 63, and Pulumi adds a suffix."""
_READER, _WRITER = "roles/storage.objectViewer", "roles/storage.objectUser"
# File modes as the driver sets them for pods with an fsGroup. Flat buckets have folders without an object.
_OPTIONS = ("implicit-dirs", f"uid={pod_security.USER}", f"gid={pod_security.USER}", "file-mode=664", "dir-mode=775")


def claim(args: GcsFuseSettings, request: Request, opts: pulumi.ResourceOptions) -> k8s.core.v1.PersistentVolumeClaim:
    """The bucket if it is new, the permissions on it, and a claim that is bound to it."""
    native: Native = request.cluster.native
    name = f"{request.namespace.plain_name}-{request.name}"
    unprotected = pulumi.ResourceOptions(parent=opts.parent, provider=native.provider)
    bucket: pulumi.Input[str]
    if args.bucket:
        bucket = as_input(args.bucket)
    else:
        made = create(name, request, request.cluster.args.catalog_region, args.kms_key, opts)
        bucket = made.name
        if request.args.mirror:
            region = request.args.mirror.to.region
            # Not protected, so that `mirror` can be removed; the copy is kept.
            stays = pulumi.ResourceOptions(parent=opts.parent, retain_on_delete=opts.retain_on_delete)
            copy = create(f"{name}-mirror", request, region, args.mirror_kms_key, stays)
            follow(name, request, made, copy, unprotected)
    rights = _rights(name, bucket, request, unprotected)
    options, attributes = list(_OPTIONS), {}
    if args.prefix:
        options.append(f"only-dir={args.prefix}")
    if request.args.cache:
        options.append("file-cache:enable-parallel-downloads:true")
        attributes = {
            "fileCacheCapacity": quantities.gibibytes(request.args.cache.size_gib),
            "fileCacheForRangeRead": "true",
        }
    csi: k8s.core.v1.CSIPersistentVolumeSourceArgsDict = {
        "driver": "gcsfuse.csi.storage.gke.io",
        # The driver ignores what follows the colon. Kubernetes requires a unique handle for each volume.
        "volume_handle": pulumi.Output.concat(bucket, ":", name),
    }
    if attributes:
        csi["volume_attributes"] = attributes
    return static.claim(request, opts, {"mount_options": options, "csi": csi}, depends_on=rights)


def create(
    name: str, request: Request, region: str | None, key: In[str] | None, opts: pulumi.ResourceOptions
) -> gcp.storage.Bucket:
    """A private bucket with soft delete."""
    native: Native = request.cluster.native
    return gcp.storage.Bucket(
        short_name(name, _NAME_LIMIT),
        location=region.upper() if region else None,
        uniform_bucket_level_access=True,
        public_access_prevention="enforced",
        hierarchical_namespace={"enabled": True},
        soft_delete_policy={"retention_duration_seconds": _UNDELETE_SECONDS},
        encryption={"default_kms_key_name": as_input(key)} if key else None,
        # Without `retain`, objects are deleted with the bucket.
        force_destroy=not request.args.retain,
        labels={"tensorplane-volume": request.name},
        opts=pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(provider=native.provider)),
    )


def _rights(
    name: str, bucket: pulumi.Input[str], request: Request, opts: pulumi.ResourceOptions
) -> Sequence[pulumi.Resource]:
    """Permissions of the namespace's service accounts on the bucket."""
    return [
        gcp.storage.BucketIAMMember(f"{name}-{who}", bucket=bucket, role=role, member=member, opts=opts)
        for who, role, member in _members(request)
    ]


def _members(request: Request) -> Iterator[tuple[str, str, pulumi.Output[str]]]:
    native: Native = request.cluster.native
    args, namespace = request.args, request.namespace.plain_name
    project = native.cluster.project
    pool = pulumi.Output.format(
        "iam.googleapis.com/projects/{0}/locations/global/workloadIdentityPools/{1}.svc.id.goog",
        native.project_number,
        project,
    )
    writes = set(request.access_modes) != {"ReadOnlyMany"}
    if args.readers is None and args.writers is None:
        everybody = pulumi.Output.format("principalSet://{0}/namespace/{1}", pool, namespace)
        yield EVERYBODY, _WRITER if writes else _READER, everybody
        return
    writers = set(members.accounts(args.writers))
    for account in sorted(writers | set(members.accounts(args.readers))):
        role = _WRITER if writes and account in writers else _READER
        yield account, role, pulumi.Output.format("principal://{0}/subject/ns/{1}/sa/{2}", pool, namespace, account)


_HOURLY = 3600
# A schedule that started in the past first runs within a day.
_LONG_AGO: gcp.storage.TransferJobScheduleScheduleStartDateArgsDict = {"year": 2026, "month": 1, "day": 1}
# Roles of Storage Transfer on the source, and on the mirror, which has a hierarchical namespace.
_READS = ("roles/storage.objectViewer", "roles/storage.legacyBucketReader")
_WRITES = ("roles/storage.objectUser", "roles/storage.legacyBucketReader")


def follow(
    name: str,
    request: Request,
    bucket: gcp.storage.Bucket,
    copy: gcp.storage.Bucket,
    opts: pulumi.ResourceOptions,
) -> None:
    """The transfer job, and the permissions of the Storage Transfer service agent."""
    native: Native = request.cluster.native
    api = access.switched_on(name, "storagetransfer", opts)
    # The lookup creates the service agent if the project has none; no resource does.
    agent = gcp.storage.get_transfer_project_service_account_output(
        project=native.cluster.project,
        opts=pulumi.InvokeOutputOptions(parent=opts.parent, provider=native.provider, depends_on=[api]),
    )
    rights = [
        gcp.storage.BucketIAMMember(
            f"{name}-{side}-{role.rpartition('.')[2]}", bucket=of.name, role=role, member=agent.member, opts=opts
        )
        for side, of, roles in (("source", bucket, _READS), ("mirror", copy, _WRITES))
        for role in roles
    ]
    every = (request.args.mirror.every_seconds if request.args.mirror else None) or _HOURLY
    gcp.storage.TransferJob(
        f"{name}-mirror",
        description=f"Mirror of tensorplane's volume {request.name}",
        project=native.cluster.project,
        schedule={"schedule_start_date": _LONG_AGO, "repeat_interval": f"{every}s"},
        transfer_spec={
            "gcs_data_source": {"bucket_name": bucket.name},
            "gcs_data_sink": {"bucket_name": copy.name},
            "transfer_options": {"overwrite_when": "DIFFERENT", "delete_objects_unique_in_sink": True},
        },
        # Failed copies are written to the project's log, for alerts.
        logging_config={"log_actions": ["COPY", "DELETE"], "log_action_states": ["FAILED"]},
        opts=pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(depends_on=rights)),
    )
