"""The preview of a branch where the stack's state cannot be read: compared with a preview of its merge base."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType

from tensorplane import toolchain
from tensorplane.cli.commands.preview import engine, events, graphs, merge_base
from tensorplane.cli.commands.preview.engine import Preview, Streamed
from tensorplane.cli.commands.preview.events import Event
from tensorplane.cli.commands.preview.merge_base import MergeBase
from tensorplane.cli.commands.preview.report import Report
from tensorplane.components.clusters.settings import ClusterArgs
from tensorplane.driver.stack_settings import StackSettings
from tensorplane.driver.update import policy_pack, run_effects
from tensorplane.driver.update.data_at_risk import Acknowledged, Risk, find_risks
from tensorplane.driver.update.engine_events import list_job_steps, list_planned
from tensorplane.driver.update.policy_pack import Policies
from tensorplane.embedded.environment import project_environment
from tensorplane.plugins.hosts import stand_ins as providers

_NOTHING = Streamed([], failed=False)


@dataclass(frozen=True)
class Comparison:
    """Two previews of one stack, each against an empty state."""

    name: str
    base: MergeBase
    before: Preview | None
    """None: the merge base does not have the stack."""
    after: Preview | None
    """None: the branch does not have it."""

    def run(self, watch: Callable[[Event], None] = lambda event: None) -> Report:
        """Runs both at once; returns the report of what the branch changes."""
        with ThreadPoolExecutor(1) as pool:
            former = pool.submit(self.before.stream) if self.before else None
            after = self.after.stream(watch) if self.after else _NOTHING
            before = former.result() if former else _NOTHING
        one = self.after or self.before
        found = report(
            self.name,
            self.base.short,
            before,
            after,
            # Of a stack whose file is gone, only an earlier commit can acknowledge what is lost.
            acknowledged=Acknowledged.of(one.settings) if one else Acknowledged(),
            stand_ins=one.stand_ins if one else {},
            stack_removed=self.after is None,
        )
        rules = policy_pack.changes(self.name, self.base.folder / policy_pack.CONFIGURATIONS.name) if self.after else []
        return replace(found, policy_changes=tuple(rules))


def report(
    name: str,
    commit: str,
    before: Streamed,
    after: Streamed,
    *,
    acknowledged: Acknowledged,
    stand_ins: Mapping[str, str] = MappingProxyType({}),
    stack_removed: bool = False,
) -> Report:
    """What the graph of `after` changes in that of `before`, the preview of the merge base `commit`.

    `acknowledged`: the losses of data that the settings acknowledge. `stand_ins`: the packages with a preview-only
    provider, and why. `stack_removed`: whether the branch has no file of the stack, so that only an earlier one can
    acknowledge losses.
    """
    warnings = _failures(name, commit, before)
    alone = events.report(name, after.events, failed=after.failed)
    # A graph that ends with an error lacks resources, which would look deleted.
    both_complete = not (before.failed or (after.failed and alone.errors))
    steps = graphs.steps(before.events if both_complete else (), after.events, replaces, follows)
    streamed = [*graphs.others(after.events), *(event for step in steps for event in step.events())]
    refusals = graphs.refusals(steps)
    found = events.report(name, streamed, failed=after.failed, stand_ins=stand_ins)
    if stack_removed:
        acknowledged = replace(acknowledged, stack_removed=True)
    planned, jobs = list_planned(streamed), list_job_steps(streamed)
    at_risk = find_risks(planned, acknowledged)
    return after.explained(
        replace(
            found,
            warnings=(*after.notes, *warnings, *found.warnings),
            risks=(*(Risk(line, stops_update=True) for line in refusals), *at_risk),
            runs=run_effects.effect_lines(jobs, None),
            compared_with=commit,
            stack_removed=stack_removed,
        )
    )


def _failures(name: str, commit: str, before: Streamed) -> list[str]:
    """The warning if the preview of the merge base has failed."""
    if not before.failed:
        return []
    reason = before.explained(events.report(name, before.events, failed=True)).errors or ("it says nothing",)
    return [f"the preview of commit {commit} failed ({reason[0]}), so everything is shown as new"]


def replaces(token: str, path: str) -> bool:
    """Whether the change of a property replaces a node group's resource, as its cloud documents it."""
    clouds = (kind.effects for kind in ClusterArgs.kinds() if kind.effects)
    return any(token == cloud.node_group and re.match(cloud.replaced, path) for cloud in clouds)


def follows(parent: str, child: str) -> str:
    """The property with which a child of a node group's resource is replaced with it; empty for one that stays."""
    clouds = (kind.effects for kind in ClusterArgs.kinds() if kind.effects)
    return next(
        (cloud.of_group[child] for cloud in clouds if cloud.node_group == parent and child in cloud.of_group), ""
    )


@contextmanager
def opened(stack: str, context: str, base: str, policies: Policies = Policies.RUN) -> Iterator[Preview | Comparison]:
    """The preview of a stack: against its state, if there is one, else against the merge base with revision `base`."""
    if (StackSettings(stack, Path()).project / f"Pulumi.{stack}.yaml").exists():
        with engine.opened(stack, context, policies) as after:
            if after.stays:
                yield after
                return
            with merge_base.check_out(base) as at:
                yield Comparison(stack, at, _before(after, at), after)
        return
    with (
        merge_base.check_out(base) as at,
        tempfile.TemporaryDirectory(prefix="tensorplane-preview-") as home,
        providers.on_path(needed := providers.needed(), project_environment()["PATH"]) as path,
    ):
        settings = StackSettings(stack, Path(home), at.folder)
        settings.source()
        environment = {**engine.own_state(Path(home)), "PATH": path, "TENSORPLANE_CONTEXT": context, **at.variables}
        pulumi = toolchain.tools().path("pulumi")
        before = Preview(settings, pulumi, environment, Policies.SKIP, stand_ins=needed, stays=False)
        yield Comparison(stack, at, before, None)


def _before(after: Preview, at: MergeBase) -> Preview | None:
    """The same preview of the merge base, without policies; None if the stack is not there."""
    home = after.settings.home / "merge-base"
    settings = replace(after.settings, home=home, project=at.folder)
    if not (at.folder / settings.file.name).exists():
        return None
    environment = {**after.environment, **engine.own_state(home), **at.variables}
    return replace(after, settings=settings, environment=environment, policies=Policies.SKIP, api=None)
