"""A bucket mirror by Storage Transfer, which copies new objects and deletes removed ones."""

import pulumi
import pulumi_gcp as gcp

from components.clusters.gke import access
from components.clusters.gke.native import Native
from components.volumes.backend import Request

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
