"""Data: nothing deletes it by the way, nobody outside reads it, and disks are encrypted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any

from gpu_usage.manifest import UNKNOWN, Manifest
from stack_view.rule import Config, Finding, Rule, Severity, of_each
from stack_view.schemas import strings
from stack_view.view import Resource, View, at, known

_CLAIM = ("core", "PersistentVolumeClaim")
_VOLUME = ("core", "PersistentVolume")
_CLASS = ("storage.k8s.io", "StorageClass")
_SNAPSHOTS = frozenset(
    {
        *(("snapshot.storage.k8s.io", kind) for kind in ("VolumeSnapshotClass", "VolumeSnapshotContent")),
        *(
            ("groupsnapshot.storage.k8s.io", kind)
            for kind in ("VolumeGroupSnapshotClass", "VolumeGroupSnapshotContent")
        ),
    }
)
_VOLUME_COMPONENT = "tensorplane:index:Volume"
_SCHEDULES = frozenset(
    {
        *("kubernetes:batch/v1:CronJob", "aws:backup/plan:Plan", "azure-native:netapp:SnapshotPolicy"),
        *("kubernetes:volsync.backube/v1alpha1:ReplicationSource", "gcp:netapp/backupPolicy:BackupPolicy"),
    }
)
_STORES = frozenset(
    {
        *("aws:s3/bucket:Bucket", "aws:s3/bucketV2:BucketV2", "gcp:storage/bucket:Bucket"),
        *("aws:efs/fileSystem:FileSystem", "aws:fsx/lustreFileSystem:LustreFileSystem", "aws:ebs/volume:Volume"),
        *("gcp:filestore/instance:Instance", "gcp:lustre/instance:Instance", "gcp:compute/disk:Disk"),
        *("azure-native:storage:StorageAccount", "azure-native:storagecache:AmlFilesystem"),
    }
)
_ENCRYPTED = ("aws:efs/fileSystem:FileSystem", "aws:ebs/volume:Volume")
_PUBLIC_ACCESS_BLOCK = "aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock"
_PUBLIC_ACCESS_SETTINGS = ("blockPublicAcls", "blockPublicPolicy", "ignorePublicAcls", "restrictPublicBuckets")
_PUBLIC_MEMBERS = ("allUsers", "allAuthenticatedUsers")


def _claims(resource: Resource, view: View, config: Config) -> Iterator[Finding]:
    manifest = resource.manifest
    if manifest is None or manifest.type != _CLAIM or manifest.is_patch or resource.protected:
        return
    exempt = any(fnmatchcase(str(manifest.metadata("name")), each) for each in config["exempt"])
    if not (exempt or _needs_no_retention(resource, view) or _is_retained(manifest, view)):
        problem = "deleting this claim, or its namespace, may delete its data"
        remedy = "protect it (`protect=True`), or give its StorageClass or PersistentVolume the policy Retain"
        yield Finding(problem, f"{remedy}; for data that may go, list it in `exempt` in {view.config}")


def _needs_no_retention(resource: Resource, view: View) -> bool:
    """Whether its Volume says that its data need not be kept."""
    parent = resource.parent
    return any(
        one.body.get("retain") is False for one in view.of(_VOLUME_COMPONENT) if parent and one.urn == parent.urn
    )


def _is_retained(claim: Manifest, view: View) -> bool:
    """Whether its class, or the volume that it names, is of this stack and retains data."""
    wanted = at(claim.body, "spec", "volumeName"), at(claim.body, "spec", "storageClassName")
    volumes = any(
        one.metadata("name") == wanted[0] and at(one.body, "spec", "persistentVolumeReclaimPolicy") == "Retain"
        for _, one in view.kinds(_VOLUME)
    )
    return volumes or any(
        one.metadata("name") == wanted[1] and at(one.body, "reclaimPolicy") == "Retain" for _, one in view.kinds(_CLASS)
    )


def _reclaim(resource: Resource, view: View, config: Config) -> Iterator[Finding]:
    manifest = resource.manifest
    if manifest is None or manifest.is_patch:
        return
    policy = at(manifest.body, "spec", "persistentVolumeReclaimPolicy")
    # A volume that somebody declares has reclaim policy Retain by default.
    if manifest.type == _VOLUME and policy not in (None, "Retain"):
        yield Finding("its data is deleted with its claim", "set `spec.persistentVolumeReclaimPolicy: Retain`")
    parent = resource.parent
    # Copies that live for minutes, while a mirror sends them.
    temporary = parent is not None and parent.type == "tensorplane:index:Movers"
    if manifest.type in _SNAPSHOTS and not temporary and _deletion_policy(manifest) != "Retain":
        yield Finding("its snapshots are deleted with their objects", "set `deletionPolicy: Retain`")


def _deletion_policy(manifest: Manifest) -> Any:
    """Of a class, or of a snapshot's content."""
    own: Mapping[str, Any] = at(manifest.body, "spec") or {}
    return at(manifest.body, "deletionPolicy") or at(own, "deletionPolicy")


def _snapshots(resource: Resource, view: View, config: Config) -> Iterator[Finding]:
    required = any(fnmatchcase(resource.name, each) for each in config["required"])
    if resource.type == _VOLUME_COMPONENT and required and not any(_is_schedule(one, resource) for one in view.all):
        remedy = f"set its `snapshots.schedule`, or remove it from `required` in {view.config}"
        yield Finding("it has no schedule of snapshots or backups", remedy)


def _is_schedule(one: Resource, volume: Resource) -> bool:
    parent = one.parent
    below = parent is not None and parent.urn == volume.urn
    # The agent's CronJob is named after its volume.
    by_name = one.name in (volume.name, f"snapshots-{volume.name}")
    return one.type in _SCHEDULES and (below or by_name)


def _deletion(resource: Resource, view: View, config: Config) -> Iterator[Finding]:
    if resource.type in _STORES and at(resource.body, "forceDestroy") not in (None, False):
        yield Finding("deleting it deletes all its objects", "remove `forceDestroy`")
    if resource.type in _STORES and at(resource.body, "deletionProtectionEnabled") is False:
        yield Finding("one command deletes it", "set `deletionProtectionEnabled: true`")


def _public(resource: Resource, view: View, config: Config) -> Iterator[Finding]:
    body, remedy = resource.body, "close it, and give the readers rights of their own"
    for key in _PUBLIC_ACCESS_SETTINGS if resource.type == _PUBLIC_ACCESS_BLOCK else ():
        if at(body, key) is not True:
            yield Finding(f"`{key}` is not true, so a policy or ACL may make the bucket public", "set it to true")
    if str(at(body, "acl")).startswith("public"):
        yield Finding("its ACL lets everyone read it", remedy)
    if resource.type == "gcp:storage/bucket:Bucket" and at(body, "publicAccessPrevention") != "enforced":
        yield Finding("it may be made public", "set `publicAccessPrevention: enforced`")
    if resource.type.startswith("gcp:storage/") and at(body, "member") in _PUBLIC_MEMBERS:
        yield Finding(f"it grants rights to {body['member']}", remedy)
    if resource.type == "azure-native:storage:StorageAccount":
        if at(body, "allowBlobPublicAccess") is not False:
            yield Finding("its containers may be made public", "set `allowBlobPublicAccess: false`")
        if at(body, "publicNetworkAccess") != "Disabled" and at(body, "networkRuleSet", "defaultAction") != "Deny":
            yield Finding("every network reaches it", "set `networkRuleSet.defaultAction: Deny`")


def _encryption(resource: Resource, view: View, config: Config) -> Iterator[Finding]:
    if resource.type in _ENCRYPTED and at(resource.body, "encrypted") is not True:
        yield Finding("it is not encrypted", "set `encrypted: true`")
    manifest = resource.manifest
    if manifest is None or manifest.type != _CLASS or known(manifest.body, "provisioner") != "ebs.csi.aws.com":
        return
    if at(manifest.body, "parameters", "encrypted") not in ("true", True, UNKNOWN):
        yield Finding("its disks are not encrypted", "set `parameters.encrypted: 'true'`")


_TAGS = ["data", "storage"]

POLICIES = [
    Rule(
        of_each(_claims),
        name="volume-protection",
        description="Claims are protected, or their data outlives them, except those in `exempt` (patterns of names).",
        remedy="Protect the claim, or retain its volume.",
        severity=Severity.CRITICAL,
        tags=_TAGS,
        config={"exempt": strings()},
    ),
    Rule(
        of_each(_reclaim),
        name="volume-reclaim",
        description="PersistentVolumes and snapshots retain their data when their objects are deleted.",
        remedy="Set the policy Retain.",
        severity=Severity.HIGH,
        tags=_TAGS,
    ),
    Rule(
        of_each(_snapshots),
        name="volume-snapshots",
        description="Volumes in `required` (patterns of names) have a schedule of snapshots or backups.",
        remedy="Set the volume's snapshots.schedule.",
        severity=Severity.HIGH,
        tags=_TAGS,
        config={"required": strings()},
    ),
    Rule(
        of_each(_deletion),
        name="storage-deletion",
        description="Stores of clouds are not deleted with what is in them.",
        remedy="Remove forceDestroy, and turn deletion protection on.",
        severity=Severity.CRITICAL,
        tags=_TAGS,
    ),
    Rule(
        of_each(_public),
        name="storage-public-access",
        description="Stores of clouds are not public, and cannot be made public.",
        remedy="Block public access.",
        severity=Severity.CRITICAL,
        tags=[*_TAGS, "security"],
    ),
    Rule(
        of_each(_encryption),
        name="storage-encryption",
        description="Disks and file systems of AWS are encrypted; those of other clouds always are.",
        remedy="Set encrypted: true.",
        severity=Severity.HIGH,
        tags=[*_TAGS, "security"],
    ),
]
