"""Snapshots by AWS Backup: a vault and a plan of their own for what no CSI driver takes snapshots of."""

import pulumi
import pulumi_aws as aws

from components.eks import roles, short_name
from components.eks.context import Context
from components.volume import cron
from components.volume.snapshot_schedule import SnapshotsArgs

_SECONDS_OF_A_DAY = 24 * 3600


def plan(
    context: Context, name: str, snapshots: SnapshotsArgs, resource: pulumi.Input[str], kept: pulumi.ResourceOptions
) -> None:
    """Back up one resource on its schedule. The vault is protected and retained as the data is."""
    short = short_name.of(name)
    vault = aws.backup.Vault(name, name=short, opts=kept)
    beside = pulumi.ResourceOptions(parent=kept.parent, provider=kept.provider)
    role = roles.granted(
        context,
        f"{short}-backup",
        "backup.amazonaws.com",
        policies=["service-role/AWSBackupServiceRolePolicyForBackup"],
    )
    made = aws.backup.Plan(
        name,
        name=short,
        rules=[
            {
                "rule_name": "scheduled",
                "target_vault_name": vault.name,
                "schedule": cron.for_aws(snapshots.schedule),
                "start_window": 60,
                "lifecycle": {"delete_after": (snapshots.expire_seconds or 0) // _SECONDS_OF_A_DAY},
                "recovery_point_tags": {"tensorplane.dev/volume": name, "tensorplane.dev/reason": "schedule"},
            }
        ],
        opts=beside,
    )
    aws.backup.Selection(
        name,
        name=short,
        plan_id=made.id,
        iam_role_arn=role.arn,
        resources=[resource],
        opts=pulumi.ResourceOptions.merge(beside, pulumi.ResourceOptions(depends_on=list(role.grants))),
    )
