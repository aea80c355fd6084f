"""Members of teams: how the cluster lets them log in, and what they may do there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from tensorplane.components.base.problems import Key, Problem
from tensorplane.components.base.sdk import pulumi
from tensorplane.components.teams import members
from tensorplane.stack.settings import StackConfig
from tensorplane.workloads.sweep import controller as sweep_controller

if TYPE_CHECKING:
    from tensorplane.components.clusters.component import Cluster

_RESERVED = "system"
"""Prefix of Kubernetes' own groups and users, such as system:masters."""


def find_problems(config: StackConfig) -> Iterator[Problem]:
    """Members that the cluster cannot know."""
    of_teams: dict[Key, str] = {
        ("teams", team, "members", str(index)): member
        for team, args in config.teams.items()
        for index, member in enumerate(args.members)
    }
    if config.namespace_name == _RESERVED and _uses_groups(config):
        reason = f"groups of teams' members begin with it, as Kubernetes' own do ({_RESERVED}:masters); use another"
        yield Problem(("namespace",), reason, given=(("teams",),))
    yield from config.cluster.check_members(of_teams)


def allow(
    config: StackConfig,
    cluster: Cluster,
    namespaces: Mapping[str, pulumi.Input[str]],
    inside: pulumi.ResourceOptions,
) -> None:
    """Lets the members of teams log in, and gives them their rights. `namespaces`: those of the teams."""
    if cluster.native is not None:
        groups = _groups(config).items()
        config.cluster.admit(cluster.native, {group: config.teams[team].members for team, group in groups})
    members.allow(known(config), namespaces, config.namespace_name, inside)
    for team in _groups(config):
        private = config.cluster.api_server_is_private
        sweep_controller.allow_team(team, namespaces[team], inside, api_server_is_private=private)


def known(config: StackConfig) -> dict[str, Sequence[str]]:
    """Members of each team that has some, as Kubernetes knows them: `group:NAME` and `user:NAME`."""
    groups = _groups(config).items()
    return {team: config.cluster.subjects(config.teams[team].members, group) for team, group in groups}


def _groups(config: StackConfig) -> dict[str, str]:
    """The group of each team with members."""
    return {team: members.group(config.namespace_name, team) for team, args in config.teams.items() if args.members}


def _uses_groups(config: StackConfig) -> bool:
    """Whether members of a team log in as members of its group."""
    found = known(config)
    return any(f"group:{group}" in found[team] for team, group in _groups(config).items())
