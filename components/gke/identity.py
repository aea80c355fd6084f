"""The APIs that the project needs, and the service account that the nodes are."""

import hashlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal, get_args

import pulumi
from pulumi_gcp import projects, serviceaccount

if TYPE_CHECKING:
    from components.cluster.gke import Gke

Api = Literal["cloudkms", "compute", "container", "file", "iam"]
_ROLES = {
    # Logs, metrics and the autoscaler's reports: all that a node writes.
    "node": "roles/container.defaultNodeServiceAccount",
    "images": "roles/artifactregistry.reader",
}
_ACCOUNT_LIMIT = 30
_SUFFIX = "-nodes"


def apis(name: str, opts: pulumi.ResourceOptions) -> Mapping[Api, projects.Service]:
    """The APIs, switched on. They stay on when the stack is destroyed: others in the project may use them."""
    return {
        api: projects.Service(f"{name}-{api}", service=f"{api}.googleapis.com", disable_on_destroy=False, opts=opts)
        for api in get_args(Api)
    }


def account_id(cluster_name: str) -> str:
    """Id of the nodes' service account: the cluster's name, shortened where Google has not room for it."""
    room = _ACCOUNT_LIMIT - len(_SUFFIX)
    if len(cluster_name) <= room:
        return f"{cluster_name}{_SUFFIX}"
    digest = hashlib.sha256(cluster_name.encode()).hexdigest()[:6]
    return f"{cluster_name[: room - 7]}-{digest}{_SUFFIX}"


def node_account(
    name: str, args: "Gke", iam: pulumi.Resource, opts: pulumi.ResourceOptions
) -> tuple[serviceaccount.Account, Sequence[projects.IAMMember]]:
    """The nodes' service account and its roles. Pods have identities of their own, by workload identity."""
    account = serviceaccount.Account(
        f"{name}-nodes",
        account_id=account_id(args.cluster_name),
        display_name=f"Nodes of the GKE cluster {args.cluster_name}",
        opts=pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(depends_on=[iam])),
    )
    roles = [
        projects.IAMMember(f"{name}-nodes-{key}", project=args.project, role=role, member=account.member, opts=opts)
        for key, role in _ROLES.items()
    ]
    return account, roles
