"""GKE: a cluster on Google Cloud."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from tensorplane.components.base.problems import Key, Note, Problem
from tensorplane.components.base.sdk import pulumi
from tensorplane.components.clusters.gke.settings import GkeSettings
from tensorplane.components.clusters.gke.zones import zones_of
from tensorplane.components.clusters.settings import Connection
from tensorplane.components.node_groups.checks.fleet import missing_groups
from tensorplane.components.node_groups.shape import Shape


class Gke(GkeSettings):
    """A new cluster on Google Cloud. Credentials are those of Google's tools."""

    kind: Literal["gke"] = "gke"

    def group_zones(self, shape: Shape) -> tuple[str, ...]:
        return zones_of(shape, self)

    def check(self, groups: Mapping[str, Shape]) -> Iterator[Problem]:
        # Imported here, because a stack on another cloud does not need it.
        from tensorplane.components.clusters.gke import (
            check_cluster,
            check_groups,
            check_members,
            check_network,
            check_versions,
        )

        yield from check_cluster.find_problems(self)
        yield from check_members.of_domain(self)
        yield from check_network.find_problems(self, groups)
        yield from check_versions.find_problems(self, groups)
        yield from missing_groups(groups)
        yield from check_groups.find_problems(self, groups)
        yield from check_groups.rental_problems(groups)

    def notes(self, groups: Mapping[str, Shape]) -> Iterator[Note]:
        from tensorplane.components.clusters.gke import check_groups

        yield from check_groups.notes(self, groups)

    def connect(self, name: str, groups: Mapping[str, Shape], opts: pulumi.ResourceOptions) -> Connection:
        from tensorplane.components.clusters.gke import create

        return create.connect(self, name, groups, opts)

    def check_members(self, members: Mapping[Key, str]) -> Iterator[Problem]:
        from tensorplane.components.clusters.gke import check_members

        yield from check_members.find_problems(self, members)

    def admit(self, native: Any, teams: Mapping[str, Sequence[str]]) -> None:
        from tensorplane.components.clusters.gke import members

        members.grants(native, teams)
