"""Who may mount a volume: an admission policy over the pods of its namespace."""

import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Annotated

import pulumi
import pulumi_kubernetes as k8s
from pydantic import AfterValidator

from components.labels import labels
from components.model import NAME_NEEDS, Line, is_name, refuse
from components.namespace import Namespace

if TYPE_CHECKING:
    from components.volume import VolumeArgs


_GROUP = "group:"


def _member(value: str) -> str:
    if value == _GROUP or not (value.startswith(_GROUP) or is_name(value)):
        refuse(f"a service account ({NAME_NEEDS}), or group:NAME")
    return value


Member = Annotated[Line, AfterValidator(_member)]
"""A service account by its name, or a group of the cluster's users, as `group:NAME`."""


def groups(members: Iterable[str] | None) -> list[str]:
    """The groups among those who are listed."""
    return sorted(one.removeprefix(_GROUP) for one in members or () if one.startswith(_GROUP))


def accounts(members: Iterable[str] | None) -> list[str]:
    """The service accounts among those who are listed."""
    return sorted(one for one in members or () if not one.startswith(_GROUP))


def may_mount(args: "VolumeArgs", account: str, *, read_only: bool) -> bool:
    """Whether the pods of a service account may mount the volume so. Whom nobody lists is anybody."""
    if args.readers is None and args.writers is None:
        return True
    return account in (args.writers or ()) or (read_only and account in (args.readers or ()))


def _one_of(members: Sequence[str]) -> str:
    """CEL: whether the pod runs as one of these accounts, or whoever makes it is in one of these groups."""
    account = f"object.spec.serviceAccountName in {json.dumps(accounts(members))}"
    if not groups(members):
        return account
    return f"({account} || request.userInfo.groups.exists(g, g in {json.dumps(groups(members))}))"


def policy(
    volume: str, args: "VolumeArgs", *, also: Sequence[str], namespace: Namespace, opts: pulumi.ResourceOptions
) -> "k8s.admissionregistration.v1.ValidatingAdmissionPolicy":
    """Refuse pods that mount the claim and are not of an account that may. `also` are accounts of tensorplane's own."""
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
                        f"{_one_of(writers)} || ({_one_of(readers)} && object.spec.volumes.all(v, "
                        f"!({ours}) || (has({mount}.readOnly) && {mount}.readOnly)))"
                    ),
                    "message": (
                        f"volume {volume} lets in writers {json.dumps(sorted(writers))}, "
                        f"and read-only readers {json.dumps(sorted(readers))}"
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
