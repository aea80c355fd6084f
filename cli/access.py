"""Whose jobs a command is about: those of a stack, for who deploys it, or those of a team, for its members."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tensorplane.cli.api_values import Object
from tensorplane.cli.training_jobs import cancelled, find, jobset_api
from tensorplane.cli.training_jobs.listing import Job
from tensorplane.components.base import jobset_paths
from tensorplane.core import command_lines, kubeconfig
from tensorplane.core.errors import UserError
from tensorplane.core.kube import Kube
from tensorplane.driver.stack_settings import StackSettings
from tensorplane.driver.target import Target
from tensorplane.stack_file.nearest import did_you_mean


@dataclass(frozen=True)
class Access:
    """A cluster, and the part of it that a command is about."""

    api: Kube
    namespace: str
    """The stack's own, or the team's."""
    stack: str = ""
    """Empty for a team."""
    team: str = ""
    """Empty for a stack."""
    declared: Mapping[str, Any] = field(default_factory=dict)
    """The workloads of the stack's settings."""
    context: str = ""
    """The context that replaces the one in the stack's file, or the current one."""

    @classmethod
    def of(cls, stack: str, team: str | None, context: str) -> Access:
        """A stack's, or with `team` that of the current context of the user's kubeconfig."""
        if team:
            start = f"If it is an embedded cluster, start it with: {command_lines.deploy()}"
            return cls(
                Kube.of(None, context or None, remedy=start), _namespace(team, context), team=team, context=context
            )
        target = Target.of(context, stack=stack)
        settings = StackSettings(stack, target.home)
        settings.source()
        api, declared = target.answering_api(), settings.section("workloads")
        return cls(api, settings.namespace, stack=stack, declared=declared, context=context)

    def command(self, words: str) -> str:
        """A command of `tensorplane` about the same jobs, for messages."""
        return f"tensorplane {words} --team {self.team}" if self.team else command_lines.tensorplane(words, self.stack)

    def items(self, group: str, kind: str, **query: str) -> list[Object]:
        """All objects of a kind, for a team those of its namespace. `group`: the path of the API's group. `query`:
        further parameters of the list."""
        return self.api.items(self._path(group, kind), **query)

    def metadata(self, group: str, kind: str) -> list[Object]:
        """The same with their metadata alone."""
        return self.api.metadata(self._path(group, kind))

    def _path(self, group: str, kind: str) -> str:
        inside = f"/namespaces/{self.namespace}" if self.team else ""
        return f"{group}{inside}/{kind}"

    def job(self, name: str, *, alive: bool = False) -> Object:
        """The JobSet that a name means; of several runs the newest, with `alive` one that has not ended if there is
        any. A UserError if there is none.
        """
        there = self.job_sets()
        running = [one for one in there if not jobset_api.outcome(one)]
        if alive and (found := find.newest(running, self.namespace, name)):
            return found
        if found := find.newest(there, self.namespace, name):
            return found
        if name not in self.declared and (former := cancelled.newest(self.cancelled(), self.namespace, name)):
            when = f"{former.ended:%Y-%m-%d %H:%M:%S} UTC"
            raise UserError(
                f"{former.run}: was cancelled at {when}; to continue it, run the command that has started it"
            )
        if not self.team:
            return find.get_job_set(there, self.namespace, name, self.declared, self.stack, self.context)
        names = sorted({find.shown(one, self.namespace) for one in there})
        have = f"{', '.join(names) or 'none'}{did_you_mean(name, names)}"
        raise UserError(f"{name}: team {self.team} has no such job; it has {have}")

    def job_sets(self) -> list[Object]:
        """The JobSets of the cluster, for a team those of its namespace."""
        return self.items(jobset_paths.JOB_SETS, "jobsets")

    def cancelled(self) -> list[Job]:
        """Jobs that were cancelled lately; none if the user may not read of them."""
        with contextlib.suppress(UserError):
            return cancelled.read(self.items("/api/v1", "configmaps", fieldSelector=f"metadata.name={cancelled.NAME}"))
        return []


def _namespace(team: str, context: str) -> str:
    """The namespace of a context of the user's kubeconfig; a UserError if it names none."""
    try:
        namespace = kubeconfig.context_of_user(context).get("namespace")
    except UserError as error:
        raise UserError(
            f"--team: {error}; set KUBECONFIG to the file of `tensorplane kubeconfig --team {team}`"
        ) from None
    if not namespace:
        raise UserError(
            f"--team: the context of your kubeconfig names no namespace; set that of team {team} with: kubectl config"
            " set-context --current --namespace NAMESPACE"
        )
    return str(namespace)
