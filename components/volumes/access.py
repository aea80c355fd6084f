"""Who may mount a volume: a ValidatingAdmissionPolicy over the pods of its namespace."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tensorplane.components.base.labels import NAMESPACE_NAME, labels
from tensorplane.components.base.sdk import k8s, pulumi
from tensorplane.components.volumes.base_settings import VolumeSettings
from tensorplane.components.volumes.members import accounts, groups

if TYPE_CHECKING:
    from tensorplane.components.namespace.component import Namespace

_MOUNT = "v.persistentVolumeClaim"


def may_mount(args: VolumeSettings, account: str, *, read_only: bool) -> bool:
    """Whether pods of this service account may mount the volume. A volume without readers or writers is open to all."""
    if args.readers is None and args.writers is None:
        return True
    return account in (args.writers or ()) or (read_only and account in (args.readers or ()))


def _one_of(members: Sequence[str]) -> str:
    """CEL: whether the pod runs as one of these service accounts, or its creator is in one of these groups."""
    account = f"object.spec.serviceAccountName in {json.dumps(accounts(members))}"
    if not groups(members):
        return account
    return f"({account} || request.userInfo.groups.exists(g, g in {json.dumps(groups(members))}))"


def policy(
    volume: str, args: VolumeSettings, *, also: Sequence[str], namespace: Namespace, opts: pulumi.ResourceOptions
) -> k8s.admissionregistration.v1.ValidatingAdmissionPolicy:
    """Refuses pods that mount the claim without permission. `also` has service accounts of tensorplane itself."""
    writers, readers = (*(args.writers or ()), *also), args.readers or ()
    return _admission(
        f"{namespace.plain_name}-{volume}-access",
        volume,
        namespace.plain_name,
        f"{_one_of(writers)} || ({_one_of(readers)} && {_only_reads(volume)})",
        f"volumes.{volume}: this pod may not mount the volume; use a service account of its writers "
        f"{json.dumps(sorted(writers))} or, to mount it read-only, of its readers {json.dumps(sorted(readers))}",
        opts,
    )


def refuse_writers(
    name: str, volume: str, team: str, namespace: pulumi.Input[str], opts: pulumi.ResourceOptions
) -> k8s.admissionregistration.v1.ValidatingAdmissionPolicy:
    """Refuses pods of a team's namespace that do not mount the claim with `readOnly`."""
    message = f"volume {volume} is read-only for team {team}; mount it with readOnly: true"
    return _admission(name, volume, namespace, _only_reads(volume), message, opts)


def _is_claim(volume: str) -> str:
    """CEL: whether volume `v` of a pod is the claim."""
    return f"has({_MOUNT}) && {_MOUNT}.claimName == {json.dumps(volume)}"


def _only_reads(volume: str) -> str:
    """CEL: whether the pod mounts the claim with `readOnly` everywhere."""
    return f"object.spec.volumes.all(v, !({_is_claim(volume)}) || (has({_MOUNT}.readOnly) && {_MOUNT}.readOnly))"


def _admission(
    name: str,
    volume: str,
    namespace: pulumi.Input[str],
    expression: str,
    message: str,
    opts: pulumi.ResourceOptions,
) -> k8s.admissionregistration.v1.ValidatingAdmissionPolicy:
    """Refuses pods of a namespace that mount the claim, unless the expression holds."""
    made = k8s.admissionregistration.v1.ValidatingAdmissionPolicy(
        name,
        metadata={"name": name, "labels": labels(volume, "volume")},
        spec={
            "failure_policy": "Fail",
            "match_constraints": {
                "namespace_selector": {"match_labels": {NAMESPACE_NAME: namespace}},
                "resource_rules": [
                    {"api_groups": [""], "api_versions": ["v1"], "resources": ["pods"], "operations": ["CREATE"]}
                ],
            },
            "match_conditions": [
                {
                    "name": "mounts-it",
                    "expression": f"has(object.spec.volumes) && object.spec.volumes.exists(v, {_is_claim(volume)})",
                }
            ],
            "validations": [{"expression": expression, "message": message}],
        },
        opts=opts,
    )
    k8s.admissionregistration.v1.ValidatingAdmissionPolicyBinding(
        name,
        metadata={"name": name, "labels": labels(volume, "volume")},
        spec={"policy_name": made.metadata["name"], "validation_actions": ["Deny"]},
        opts=opts,
    )
    return made
