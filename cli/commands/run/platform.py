"""The settings by which a job is checked and planned: a stack's file, or what the stack has published for a team."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tensorplane.cli import stack_config
from tensorplane.cli.access import Access
from tensorplane.components.base.settings import Settings
from tensorplane.core.errors import UserError
from tensorplane.driver.stack_settings import declared
from tensorplane.stack import model_folders, team_settings


@dataclass(frozen=True)
class Platform:
    """A stack, as one of its jobs sees it."""

    stack: str
    settings: Settings
    team: str = ""
    """The team whose job it is; empty for the stack's own."""
    namespace: str = ""
    """The team's."""

    @property
    def queues(self) -> list[str]:
        """Names of the team's queues."""
        declared = self.settings.tree.get("queues") or {}
        return [name for name, args in declared.items() if self.team in args.get("teams", ())]

    @property
    def workloads(self) -> Mapping[str, Any]:
        """The stack's workloads, with folders in place of the jobs that servers' models come from."""
        return model_folders.spelled_out(self.settings.tree.get("workloads") or {})

    @classmethod
    def of_stack(cls, stack: str) -> Platform:
        """That of a stack, for who deploys it."""
        return cls(stack, Settings.of_file(declared(stack_config.file(stack))))

    @classmethod
    def of_team(cls, access: Access) -> Platform:
        """The published one, in the team's namespace. A UserError if the stack has none for it."""
        path = f"/api/v1/namespaces/{access.namespace}/configmaps/{team_settings.NAME}"
        found = (access.api.get(path) or {}).get("data") or {}
        if found.get(team_settings.TEAM) != access.team:
            use = f"use the kubeconfig of team {access.team}"
            if own := found.get(team_settings.TEAM):
                raise UserError(f"--team: your kubeconfig is that of team {own}; set --team {own}, or {use}")
            raise UserError(f"--team: namespace {access.namespace} is of no team with members; {use}")
        tree = json.loads(found[team_settings.SETTINGS])
        return cls(found[team_settings.STACK], Settings(tree), access.team, access.namespace)
