"""The APIs that the project needs, and the service account that the nodes are."""

from collections.abc import Mapping, Sequence
from typing import Literal, get_args

import pulumi
from pulumi_gcp import projects, serviceaccount

from components.base.names import digest
from components.clusters.gke.settings import GkeSettings

Api = Literal["cloudkms", "compute", "container", "file", "iam"]
"""What every cluster needs."""
MoreApi = Literal["dns", "lustre", "servicenetworking", "storagetransfer"]
"""What a volume may need beside it."""
_ROLES = {
    # Logs, metrics and the autoscaler's reports: all that a node writes.
    "node": "roles/container.defaultNodeServiceAccount",
    "images": "roles/artifactregistry.reader",
}
_ACCOUNT_LIMIT = 30
_SUFFIX = "-nodes"


def apis(name: str, opts: pulumi.ResourceOptions) -> Mapping[Api, projects.Service]:
    """The APIs, switched on. They stay on when the stack is destroyed: others in the project may use them."""
    return {api: switched_on(name, api, opts) for api in get_args(Api)}


def switched_on(name: str, api: Api | MoreApi, opts: pulumi.ResourceOptions) -> projects.Service:
    """One API."""
    return projects.Service(f"{name}-{api}", service=f"{api}.googleapis.com", disable_on_destroy=False, opts=opts)


def agent(name: str, apis: Mapping[Api, pulumi.Resource], opts: pulumi.ResourceOptions) -> projects.ServiceIdentity:
    """Who GKE itself is in the project."""
    after = pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(depends_on=[apis["container"]]))
    return projects.ServiceIdentity(f"{name}-agent", service="container.googleapis.com", opts=after)


def project_number(agent: projects.ServiceIdentity) -> pulumi.Output[str]:
    """The project's number, which GKE's agent has in its name: service-NUMBER@container-engine-robot….

    Nothing else that a stack creates tells it, and asking would need a call during the preview.
    """
    return agent.email.apply(lambda email: email.partition("@")[0].removeprefix("service-"))


def account_id(cluster_name: str) -> str:
    """Id of the nodes' service account: the cluster's name, shortened where Google has not room for it."""
    room = _ACCOUNT_LIMIT - len(_SUFFIX)
    if len(cluster_name) <= room:
        return f"{cluster_name}{_SUFFIX}"
    return f"{cluster_name[: room - 7]}-{digest(cluster_name, 6)}{_SUFFIX}"


def node_account(
    name: str, args: GkeSettings, iam: pulumi.Resource, opts: pulumi.ResourceOptions
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
