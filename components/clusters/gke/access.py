"""The APIs of the project, and the nodes' service account."""

from collections.abc import Mapping, Sequence
from typing import Literal, get_args

import pulumi
from pulumi_gcp import projects, serviceaccount

from tensorplane.components.base.names import digest
from tensorplane.components.base.produced import as_input
from tensorplane.components.clusters.gke.settings import GkeSettings

Api = Literal["cloudkms", "compute", "container", "file", "iam"]
"""APIs of every cluster."""
MoreApi = Literal["dns", "lustre", "servicenetworking", "storagetransfer"]
"""APIs that backends of volumes may require."""
_ROLES = {
    # Roles for what nodes write: logs, metrics, and the autoscaler's events.
    "node": "roles/container.defaultNodeServiceAccount",
    "images": "roles/artifactregistry.reader",
}
_ACCOUNT_LIMIT = 30
_SUFFIX = "-nodes"


def apis(name: str, opts: pulumi.ResourceOptions) -> Mapping[Api, projects.Service]:
    """Enables the APIs. They stay enabled when the stack is destroyed, because others in the project may use them."""
    return {api: switched_on(name, api, opts) for api in get_args(Api)}


def switched_on(name: str, api: Api | MoreApi, opts: pulumi.ResourceOptions) -> projects.Service:
    """Enables one API."""
    return projects.Service(f"{name}-{api}", service=f"{api}.googleapis.com", disable_on_destroy=False, opts=opts)


def agent(name: str, apis: Mapping[Api, pulumi.Resource], opts: pulumi.ResourceOptions) -> projects.ServiceIdentity:
    """GKE's service agent in the project."""
    after = pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(depends_on=[apis["container"]]))
    return projects.ServiceIdentity(f"{name}-agent", service="container.googleapis.com", opts=after)


def project_number(agent: projects.ServiceIdentity) -> pulumi.Output[str]:
    """The project's number, from the name of GKE's service agent: service-NUMBER@container-engine-robot….

    No other resource of a stack returns it, and a lookup would be a request during the preview.
    """
    return agent.email.apply(lambda email: email.partition("@")[0].removeprefix("service-"))


def account_id(cluster_name: str) -> str:
    """Id of the nodes' service account: the cluster's name, shortened to Google's limit."""
    limit = _ACCOUNT_LIMIT - len(_SUFFIX)
    if len(cluster_name) <= limit:
        return f"{cluster_name}{_SUFFIX}"
    return f"{cluster_name[: limit - 7]}-{digest(cluster_name, 6)}{_SUFFIX}"


def node_account(
    name: str, args: GkeSettings, iam: pulumi.Resource, opts: pulumi.ResourceOptions
) -> tuple[serviceaccount.Account, Sequence[projects.IAMMember]]:
    """The nodes' service account and its roles. Pods have their own identities by workload identity."""
    account = serviceaccount.Account(
        f"{name}-nodes",
        account_id=account_id(args.cluster_name),
        display_name=f"Nodes of the GKE cluster {args.cluster_name}",
        opts=pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(depends_on=[iam])),
    )
    roles = [
        projects.IAMMember(
            f"{name}-nodes-{key}", project=as_input(args.project), role=role, member=account.member, opts=opts
        )
        for key, role in _ROLES.items()
    ]
    return account, roles
