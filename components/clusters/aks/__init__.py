"""AKS: a cluster on Azure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from tensorplane.components.base.problems import Key, Problem
from tensorplane.components.base.sdk import pulumi
from tensorplane.components.clusters.aks.settings import AksSettings
from tensorplane.components.clusters.aks.zones import zones_of
from tensorplane.components.clusters.settings import NO_ZONE, Connection
from tensorplane.components.node_groups.checks.fleet import missing_groups
from tensorplane.components.node_groups.shape import Shape


class Aks(AksSettings):
    """A new cluster on Azure. Credentials and subscription are those of `az login`, or of ARM_* variables."""

    kind: Literal["aks"] = "aks"

    def group_zones(self, shape: Shape) -> tuple[str, ...]:
        return zones_of(shape, self) or (NO_ZONE,)

    def check(self, groups: Mapping[str, Shape]) -> Iterator[Problem]:
        # Imported here, because a stack on another cloud does not need it.
        from tensorplane.components.clusters.aks import check_cluster, check_groups, check_network

        yield from check_cluster.find_problems(self)
        yield from check_network.find_problems(self, groups)
        yield from missing_groups(groups)
        yield from check_groups.find_problems(self, groups)

    def connect(self, name: str, groups: Mapping[str, Shape], opts: pulumi.ResourceOptions) -> Connection:
        from tensorplane.components.clusters.aks import create

        return create.connect(self, name, groups, opts)

    def check_members(self, members: Mapping[Key, str]) -> Iterator[Problem]:
        from tensorplane.components.clusters.aks import check_members

        yield from check_members.find_problems(members)

    def admit(self, native: Any, teams: Mapping[str, Sequence[str]]) -> None:
        from tensorplane.components.clusters.aks import members

        members.grants(native, teams)
