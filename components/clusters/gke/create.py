"""Creates a GKE cluster: APIs, network, key, control plane, node pools, provider."""

from collections.abc import Mapping

import pulumi
import pulumi_gcp as gcp

from tensorplane.components.base.produced import as_input
from tensorplane.components.clusters.gke import (
    access,
    control_plane,
    encryption,
    file_storage,
    kubeconfig,
    network,
    node_pools,
    provisioning,
)
from tensorplane.components.clusters.gke.native import Native
from tensorplane.components.clusters.gke.settings import GkeSettings, labels
from tensorplane.components.clusters.settings import Connection, cluster_provider
from tensorplane.components.node_groups.component import NodeGroup
from tensorplane.components.node_groups.shape import Shape


def connect(args: GkeSettings, name: str, groups: Mapping[str, Shape], opts: pulumi.ResourceOptions) -> Connection:
    """Creates all resources, and a provider that depends on the nodes, so that objects are deleted before nodes."""
    google = gcp.Provider(
        f"{name}-gcp",
        project=as_input(args.project),
        region=args.region,
        default_labels=labels(args) or None,
        opts=opts,
    )
    inside = pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(provider=google))
    apis = access.apis(name, inside)
    networks = network.create(name, args, apis["compute"], inside)
    account, roles = access.node_account(name, args, apis["iam"], inside)
    agent = access.agent(name, apis, inside)
    key, key_grants = encryption.secrets_key(name, args, apis, agent, inside)
    cluster = control_plane.create(
        name,
        args,
        network=networks,
        node_account=account.email,
        secrets_key=key,
        autoscaling=provisioning.autoscaling(groups, args, account.email),
        after=[apis["container"], *networks.ready, *roles, *key_grants],
        opts=inside,
    )
    config: pulumi.Output[str | None] = pulumi.Output.secret(kubeconfig.of(cluster, args))
    pools = _pools(args, groups, cluster, account.email, inside)
    last = pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(depends_on=pools))
    provider = cluster_provider(name, config, cluster.id, last)
    file_storage.storage_class(args, provider, opts)
    for shape in groups.values():
        if shape.args.provisioner == "automatic":
            group = NodeGroup(shape, opts)
            group.done(provisioning.compute_class(group, args, account.email, provider))
    return Connection(provider, config, Native(args, cluster, google, networks, access.project_number(agent)))


def _pools(
    args: GkeSettings,
    groups: Mapping[str, Shape],
    cluster: gcp.container.Cluster,
    account: pulumi.Output[str],
    opts: pulumi.ResourceOptions,
) -> list[pulumi.Resource]:
    """The node pools. Those without accelerator come first: only then, GKE taints the others."""
    fixed = [shape for shape in groups.values() if shape.args.provisioner == "group"]
    plain: list[pulumi.Resource] = []
    special: list[pulumi.Resource] = []
    for shape in sorted(fixed, key=lambda shape: shape.accelerator is not None):
        group = NodeGroup(shape, opts)
        after = plain if shape.accelerator else []
        pool = node_pools.create(group, args, cluster=cluster, account=account, after=after)
        group.done(pool)
        (special if shape.accelerator else plain).append(pool)
    return [*plain, *special]
