"""Snapshots by AWS Backup, for file systems whose CSI driver does not support snapshots."""

import pulumi
import pulumi_aws as aws

from tensorplane.components.base import cron
from tensorplane.components.base.model import In
from tensorplane.components.base.produced import as_input
from tensorplane.components.clusters.eks import roles
from tensorplane.components.clusters.eks.context import Context
from tensorplane.components.clusters.eks.native import short_name
from tensorplane.components.volumes.snapshots.settings import SnapshotsArgs

_SECONDS_OF_A_DAY = 24 * 3600


def plan(
    context: Context,
    name: str,
    snapshots: SnapshotsArgs,
    resource: pulumi.Input[str],
    retained: pulumi.ResourceOptions,
    *,
    kms_key: In[str] | None = None,
) -> None:
    """Back up one resource on its schedule. The vault is protected like the data; `kms_key` encrypts it.

    The vault is never deleted, because AWS refuses that while it has backups; the backups expire.
    """
    short = short_name(name)
    stays = pulumi.ResourceOptions.merge(retained, pulumi.ResourceOptions(retain_on_delete=True))
    # Pulumi's suffix keeps the name unique if an earlier vault was left.
    vault = aws.backup.Vault(short, kms_key_arn=as_input(kms_key), opts=stays)
    unprotected = pulumi.ResourceOptions(parent=retained.parent, provider=retained.provider)
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
        opts=unprotected,
    )
    aws.backup.Selection(
        name,
        name=short,
        plan_id=made.id,
        iam_role_arn=role.arn,
        resources=[resource],
        opts=pulumi.ResourceOptions.merge(unprotected, pulumi.ResourceOptions(depends_on=list(role.grants))),
    )
