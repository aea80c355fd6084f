"""EKS: a cluster on AWS."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from tensorplane.components.base.problems import Key, Problem, without_implied
from tensorplane.components.base.sdk import pulumi
from tensorplane.components.clusters.eks import principals
from tensorplane.components.clusters.eks.settings import EksSettings
from tensorplane.components.clusters.eks.zones import zones_of
from tensorplane.components.clusters.settings import Connection
from tensorplane.components.node_groups.checks.fleet import missing_groups
from tensorplane.components.node_groups.shape import Shape


class Eks(EksSettings):
    """A new cluster on AWS. Credentials are those of AWS' tools."""

    kind: Literal["eks"] = "eks"

    def group_zones(self, shape: Shape) -> tuple[str, ...]:
        return zones_of(shape, self)

    def check(self, groups: Mapping[str, Shape]) -> Iterator[Problem]:
        # Imported here, because a stack on another cloud does not need it.
        from tensorplane.components.clusters.eks import check_cluster, check_groups, check_network

        cluster = list(check_cluster.find_problems(self))
        yield from cluster
        network = list(without_implied(check_network.find_problems(self), cluster))
        yield from network
        yield from missing_groups(groups)
        of_groups = (*check_groups.find_problems(self, groups), *check_network.address_problems(self, groups))
        yield from without_implied(of_groups, [*cluster, *network])

    def connect(self, name: str, groups: Mapping[str, Shape], opts: pulumi.ResourceOptions) -> Connection:
        from tensorplane.components.clusters.eks import create

        return create.connect(self, name, groups, opts)

    def check_members(self, members: Mapping[Key, str]) -> Iterator[Problem]:
        from tensorplane.components.clusters.eks import check_members

        yield from check_members.find_problems(self, members)

    def subjects(self, members: Sequence[str], group: str) -> Sequence[str]:
        others = [member for member in members if principals.of_member(member) is None]
        return others if len(others) == len(members) else [*others, f"group:{group}"]

    def admit(self, native: Any, teams: Mapping[str, Sequence[str]]) -> None:
        from tensorplane.components.clusters.eks import members

        members.entries(native, teams)
