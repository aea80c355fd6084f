"""A bucket that follows another one: Storage Transfer copies what is new, and deletes what is gone."""

import pulumi
import pulumi_gcp as gcp

from components.clusters.gke import access
from components.clusters.gke.native import Native
from components.volumes.backend import Request

_HOURLY = 3600
# The first run of a schedule that began in the past is within a day.
_LONG_AGO: gcp.storage.TransferJobScheduleScheduleStartDateArgsDict = {"year": 2026, "month": 1, "day": 1}
# What Storage Transfer needs to read one bucket and to write another, which has folders (its "Hierarchical namespace").
_READS = ("roles/storage.objectViewer", "roles/storage.legacyBucketReader")
_WRITES = ("roles/storage.objectUser", "roles/storage.legacyBucketReader")


def follow(
    name: str,
    request: Request,
    bucket: gcp.storage.Bucket,
    copy: gcp.storage.Bucket,
    opts: pulumi.ResourceOptions,
) -> None:
    """The transfer, and the rights of Google's agent that does it."""
    native: Native = request.cluster.native
    api = access.switched_on(name, "storagetransfer", opts)
    # Asking for the agent makes it, where the project has none; no resource does.
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
        # Each copy that failed is a line of the project's log, to be alerted on.
        logging_config={"log_actions": ["COPY", "DELETE"], "log_action_states": ["FAILED"]},
        opts=pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(depends_on=rights)),
    )
