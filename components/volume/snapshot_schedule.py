"""Snapshots of a volume on a schedule: their settings, and the CronJob that takes and expires them."""

from collections.abc import Sequence
from typing import Annotated

import pulumi
import pulumi_kubernetes as k8s
from pydantic import AfterValidator, Field

from components import interval, restricted
from components.interval import Age
from components.labels import labels
from components.model import Model, Name, refuse
from components.namespace import Namespace
from components.volume import cron
from components.volume.snapshot_class import SnapshotClass
from components.volume.snapshotter import ACCOUNT, CODE, Snapshotter

NAME_LIMIT = 52 - len("snapshots-")
"""Characters of a volume's name, so that its CronJob has a name."""
_SECONDS_TO_START = 600
_SECONDS_FOR_A_SNAPSHOT = 3600
KEPT = 24


def _schedule(value: str) -> str:
    need = cron.problem(value)
    if need:
        refuse(need)
    return cron.MACROS.get(value, value)


class SnapshotsArgs(Model):
    """When snapshots of a volume are taken, and which stay. One that somebody else took is never deleted."""

    schedule: Annotated[str, AfterValidator(_schedule)]
    """When, in cron's five fields and UTC: `0 * * * *` for every hour."""
    keep: Annotated[int, Field(ge=1, le=1000)] | None = None
    """The newest so many stay; older ones are deleted, once a newer one is ready. 24, where nothing says what stays."""
    expire: Age | None = None
    """Age at which one is deleted, however few there are: 36h, 30d, 8w. With CSI, the newest stays whatever its age."""

    group: Name | None = None
    """Take them together with those of the other volumes of this group, at one instant. They have one schedule."""

    @property
    def count(self) -> list[str]:
        """How many stay, as the CronJob is told."""
        kept = self.keep or (None if self.expire else KEPT)
        return [f"--keep={kept}"] if kept else []

    @property
    def expire_seconds(self) -> int | None:
        """The age in seconds."""
        return interval.seconds(self.expire) if self.expire else None


def cron_job(
    subject: str,
    kind: SnapshotClass,
    args: SnapshotsArgs,
    *,
    claims: "Sequence[k8s.core.v1.PersistentVolumeClaim]",
    namespace: Namespace,
    snapshotter: Snapshotter,
    opts: pulumi.ResourceOptions,
) -> "k8s.batch.v1.CronJob":
    """The CronJob of one volume, or of a group of them, by its name.

    Each run takes one snapshot, waits until it is ready, and deletes what is past.
    """
    name = f"snapshots-{subject}"
    age = args.expire_seconds
    arguments: list[pulumi.Input[str]] = [
        subject,
        snapshotter.classes[kind],
        *(["--group"] if kind.group else []),
        *args.count,
        *([f"--expire={age}"] if age else []),
    ]
    job: k8s.batch.v1.JobSpecArgsDict = {
        # A second try finds the snapshot of the first.
        "backoff_limit": 2,
        "active_deadline_seconds": _SECONDS_FOR_A_SNAPSHOT,
        "template": {
            "metadata": {"labels": labels(name, "snapshots")},
            "spec": _pod(snapshotter, arguments),
        },
    }
    return k8s.batch.v1.CronJob(
        name,
        metadata={"name": name, "namespace": namespace.name, "labels": labels(subject, "snapshots")},
        spec={
            "schedule": args.schedule,
            "time_zone": "Etc/UTC",
            "concurrency_policy": "Forbid",
            # After a longer break, the next time is soon enough, and a hundred missed times do not end the schedule.
            "starting_deadline_seconds": _SECONDS_TO_START,
            "successful_jobs_history_limit": 1,
            "failed_jobs_history_limit": 3,
            "job_template": {"spec": job},
        },
        opts=pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(depends_on=[*claims, snapshotter])),
    )


def _pod(snapshotter: Snapshotter, arguments: list[pulumi.Input[str]]) -> "k8s.core.v1.PodSpecArgsDict":
    return {
        "service_account_name": ACCOUNT,
        "enable_service_links": False,
        "restart_policy": "Never",
        "security_context": restricted.pod(),
        "containers": [
            {
                "name": "main",
                "image": snapshotter.image,
                "image_pull_policy": "IfNotPresent",
                "command": ["python3", "-m", "snapshotter", *arguments],
                "env": [
                    {"name": "PYTHONPATH", "value": CODE},
                    {"name": "PYTHONDONTWRITEBYTECODE", "value": "1"},
                    {"name": "NAMESPACE", "value_from": {"field_ref": {"field_path": "metadata.namespace"}}},
                    {
                        "name": "JOB_NAME",
                        "value_from": {"field_ref": {"field_path": "metadata.labels['batch.kubernetes.io/job-name']"}},
                    },
                ],
                "resources": {
                    "requests": {"cpu": "10m", "memory": "32Mi"},
                    "limits": {"memory": "128Mi"},
                },
                "security_context": restricted.CONTAINER,
                "volume_mounts": [{"name": "code", "mount_path": f"{CODE}/snapshotter", "read_only": True}],
            }
        ],
        "volumes": [{"name": "code", "config_map": {"name": snapshotter.code}}],
    }
