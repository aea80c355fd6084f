"""Who may mount a volume: a ValidatingAdmissionPolicy over the pods of its namespace."""

import json
from collections.abc import Sequence

import pulumi
import pulumi_kubernetes as k8s

from components.base.labels import NAMESPACE_NAME, labels
from components.namespace import Namespace
from components.volumes.base_settings import VolumeSettings
from components.volumes.members import accounts, groups


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
) -> "k8s.admissionregistration.v1.ValidatingAdmissionPolicy":
    """Refuse pods that mount the claim without permission. `also` has service accounts of tensorplane itself."""
    name = f"{namespace.plain_name}-{volume}-access"
    mount = "v.persistentVolumeClaim"
    ours = f"has({mount}) && {mount}.claimName == {json.dumps(volume)}"
    writers, readers = (*(args.writers or ()), *also), args.readers or ()
    made = k8s.admissionregistration.v1.ValidatingAdmissionPolicy(
        name,
        metadata={"name": name, "labels": labels(volume, "volume")},
        spec={
            "failure_policy": "Fail",
            "match_constraints": {
                "namespace_selector": {"match_labels": {NAMESPACE_NAME: namespace.plain_name}},
                "resource_rules": [
                    {"api_groups": [""], "api_versions": ["v1"], "resources": ["pods"], "operations": ["CREATE"]}
                ],
            },
            "match_conditions": [
                {
                    "name": "mounts-it",
                    "expression": f"has(object.spec.volumes) && object.spec.volumes.exists(v, {ours})",
                }
            ],
            "validations": [
                {
                    "expression": (
                        f"{_one_of(writers)} || ({_one_of(readers)} && object.spec.volumes.all(v, "
                        f"!({ours}) || (has({mount}.readOnly) && {mount}.readOnly)))"
                    ),
                    "message": (
                        f"volumes.{volume}: this pod may not mount the volume; use a service account of its writers "
                        f"{json.dumps(sorted(writers))} or, to mount it read-only, of its readers "
                        f"{json.dumps(sorted(readers))}"
                    ),
                }
            ],
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
