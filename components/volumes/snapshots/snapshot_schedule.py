"""Snapshots of a volume on a schedule: the CronJob that takes and expires them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from tensorplane.components.agent.agent import JOB_NAME
from tensorplane.components.base.sdk import k8s, pulumi
from tensorplane.components.volumes.snapshots.settings import SnapshotsArgs
from tensorplane.components.volumes.snapshots.snapshot_class import SnapshotClass

if TYPE_CHECKING:
    from tensorplane.components.volumes.snapshots.snapshotter import Snapshotter

NAME_LIMIT = 52 - len("snapshots-")
"""Characters of a volume's name: a CronJob's may have 52."""
_SECONDS_FOR_A_SNAPSHOT = 3600


def cron_job(
    subject: str,
    kind: SnapshotClass,
    args: SnapshotsArgs,
    *,
    claims: Sequence[k8s.core.v1.PersistentVolumeClaim],
    snapshotter: Snapshotter,
    origins: Collection[str] = (),
    opts: pulumi.ResourceOptions,
) -> k8s.batch.v1.CronJob:
    """The CronJob of one volume, or of a group of them, by its name.

    Each run takes one snapshot, waits until it is ready, and deletes expired ones, but none of the `origins`: the
    snapshots that volumes in the settings start from.
    """
    name = f"snapshots-{subject}"
    age = args.expire_seconds
    arguments: list[pulumi.Input[str]] = [
        subject,
        snapshotter.classes[kind],
        *(["--group"] if kind.group else []),
        *args.count,
        *([f"--expire={age}"] if age else []),
        # Names of a volume's snapshots begin with its name; the snapshot controller names those of a group's members.
        *(f"--hold={name}" for name in sorted(origins) if kind.group or name.startswith(f"{subject}-")),
    ]
    namespace_of_pod: k8s.core.v1.EnvVarArgsDict = {
        "name": "NAMESPACE",
        "value_from": {"field_ref": {"field_path": "metadata.namespace"}},
    }
    return snapshotter.agent.cron_job(
        name,
        snapshotter.agent.pod(arguments, env=[namespace_of_pod, JOB_NAME]),
        name=name,
        subject=subject,
        schedule=args.schedule,
        seconds=_SECONDS_FOR_A_SNAPSHOT,
        opts=pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(depends_on=[*claims, snapshotter])),
    )
