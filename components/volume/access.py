"""Who may mount a volume: an admission policy over the pods of its namespace."""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

import pulumi
import pulumi_kubernetes as k8s

from components.labels import labels
from components.namespace import Namespace

if TYPE_CHECKING:
    from components.volume import VolumeArgs


def may_mount(args: "VolumeArgs", account: str, *, read_only: bool) -> bool:
    """Whether the pods of a service account may mount the volume so. Whom nobody lists is anybody."""
    if args.readers is None and args.writers is None:
        return True
    return account in (args.writers or ()) or (read_only and account in (args.readers or ()))


def policy(
    volume: str, args: "VolumeArgs", *, also: Sequence[str], namespace: Namespace, opts: pulumi.ResourceOptions
) -> k8s.admissionregistration.v1.ValidatingAdmissionPolicy:
    """Refuse pods that mount the claim and are not of an account that may. `also` are accounts of tensorplane's own."""
    name = f"{namespace.plain_name}-{volume}-access"
    mount = "v.persistentVolumeClaim"
    ours = f"has({mount}) && {mount}.claimName == {json.dumps(volume)}"
    writers, readers = (
        json.dumps(sorted(accounts or ())) for accounts in ((*(args.writers or ()), *also), args.readers)
    )
    account = "object.spec.serviceAccountName"
    made = k8s.admissionregistration.v1.ValidatingAdmissionPolicy(
        name,
        metadata={"name": name, "labels": labels(volume, "volume")},
        spec={
            "failure_policy": "Fail",
            "match_constraints": {
                "namespace_selector": {"match_labels": {"kubernetes.io/metadata.name": namespace.plain_name}},
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
                        f"{account} in {writers} || ({account} in {readers} && object.spec.volumes.all(v, "
                        f"!({ours}) || (has({mount}.readOnly) && {mount}.readOnly)))"
                    ),
                    "message": f"volume {volume} lets in writers {writers}, and read-only readers {readers}",
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
