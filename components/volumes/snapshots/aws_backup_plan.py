"""Snapshots by AWS Backup: a vault and a plan of their own for what no CSI driver takes snapshots of."""

import pulumi
import pulumi_aws as aws

from components.clusters.eks import names, roles
from components.clusters.eks.context import Context
from components.volumes.snapshots import cron
from components.volumes.snapshots.settings import SnapshotsArgs

_SECONDS_OF_A_DAY = 24 * 3600


def plan(
    context: Context,
    name: str,
    snapshots: SnapshotsArgs,
    resource: pulumi.Input[str],
    kept: pulumi.ResourceOptions,
    *,
    kms_key: str | None = None,
) -> None:
    """Back up one resource on its schedule. The vault is protected as the data is, and `kms_key` encrypts it.

    It stays in AWS, where nobody can delete one that holds backups; each of those goes when it is old enough.
    """
    short = names.of(name)
    stays = pulumi.ResourceOptions.merge(kept, pulumi.ResourceOptions(retain_on_delete=True))
    # AWS' name has eight characters more: a vault that was left is in nobody's way.
    vault = aws.backup.Vault(short, kms_key_arn=kms_key, opts=stays)
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
