"""The engine's preview of a stack with the policy pack."""

from __future__ import annotations

import json
import os
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any

from tensorplane import toolchain
from tensorplane.cli import stack_config
from tensorplane.cli.commands.check import cluster
from tensorplane.cli.commands.preview import events
from tensorplane.cli.commands.preview.events import Event
from tensorplane.cli.commands.preview.report import Report
from tensorplane.cli.training_jobs import listing
from tensorplane.core.children import Children
from tensorplane.core.errors import UserError
from tensorplane.core.kube import Kube
from tensorplane.driver import claims
from tensorplane.driver.stack_settings import StackSettings, call
from tensorplane.driver.target import Target
from tensorplane.driver.update import last_update, policy_pack, recorded_usage, run_effects
from tensorplane.driver.update.data_at_risk import Acknowledged, ClusterVolumes, find_risks
from tensorplane.driver.update.engine_events import STREAMED, list_job_steps, list_planned
from tensorplane.driver.update.policy_pack import Policies
from tensorplane.plugins.hosts import stand_ins
from tensorplane.toolchain.pulumi_environment import INPUTS_AS_OUTPUTS, pulumi_environment

_MODE = {**STREAMED, **INPUTS_AS_OUTPUTS}


@dataclass(frozen=True)
class Streamed:
    """What the engine said in one preview."""

    events: list[Event]
    failed: bool
    complaints: tuple[str, ...] = ()
    """Its errors outside of events."""
    notes: tuple[str, ...] = ()

    def explained(self, report: Report) -> Report:
        """The report with the reason of a failure before the engine ran, of which no event tells."""
        is_explained = (
            report.errors or report.stopped_by_risk or any(result.messages for result in report.policy_results)
        )
        if not self.failed or is_explained:
            return report
        return replace(report, errors=tuple(line.removeprefix("error: ") for line in self.complaints))


@dataclass(frozen=True)
class Preview:
    """A stack to preview: its settings, the CLI, and the CLI's variables."""

    settings: StackSettings
    pulumi: Path
    environment: Mapping[str, str]
    policies: Policies = Policies.RUN
    """Whether the policies judge what it shows."""
    refresh: bool = False
    """Whether every resource is read first."""
    stand_ins: Mapping[str, str] = field(default_factory=dict)
    """Packages with a preview-only provider in the environment, and why."""
    api: Kube | None = None
    """The stack's cluster, if it can be asked which volumes still exist."""
    stays: bool = True
    """Whether the stack exists in its backend, rather than only for this preview."""

    def run(self, watch: Callable[[Event], None] = lambda event: None) -> Report:
        """Runs the engine's preview. Neither the cluster nor the state changes."""
        streamed = self.stream(watch)
        found = events.report(self.settings.name, streamed.events, failed=streamed.failed, stand_ins=self.stand_ins)
        at_risk = find_risks(
            list_planned(streamed.events),
            Acknowledged.of(self.settings),
            export=self.state,
            cluster=lambda: ClusterVolumes.of(self.api, self.settings.namespace) if self.api else ClusterVolumes(),
        )
        found = replace(
            found,
            warnings=(*streamed.notes, *found.warnings),
            risks=(*found.risks, *at_risk),
            runs=run_effects.effect_lines(list_job_steps(streamed.events), self.api),
            durations=listing.last_durations(self.api, self.settings.namespace) if self.api else {},
        )
        return streamed.explained(found)

    def stream(self, watch: Callable[[Event], None] = lambda event: None) -> Streamed:
        """What the engine streams of a preview."""
        self.settings.make_stack(self.pulumi, self.environment, select=self.stays)
        notes = self._gone_volumes()
        children = Children()
        child = children.start(self._command(), {**self.environment, **_MODE}, self.settings.project)
        complaints: list[str] = []
        aside = threading.Thread(target=_listen, args=(child.stderr, complaints), daemon=True)
        aside.start()
        received = []
        try:
            for event in _events(child.stdout, complaints):
                received.append(event)
                watch(event)
            code = child.wait()
        except BaseException:
            children.end(child)
            raise
        aside.join()
        return Streamed(received, code != 0, tuple(complaints), tuple(notes))

    def state(self) -> dict[str, Any]:
        """The deployed state, as `pulumi stack export` prints it."""
        exported: dict[str, Any] = json.loads(self._stack("export"))
        return exported

    def last_settings(self) -> dict[str, Any] | None:
        """The settings of the last update; None if it failed, or there was none."""
        return last_update.settings(json.loads(self._stack("history", "--json", "--page-size", "1")))

    def _stack(self, *arguments: str) -> str:
        argv: list[str | Path] = [self.pulumi, "stack", *arguments, "--stack", self.settings.name]
        return call(argv, self.settings.folder, self.environment)

    def _gone_volumes(self) -> list[str]:
        """What an update does with volumes whose claims were deleted. A UserError if it would refuse."""
        if self.api is None:
            return []
        of = self.settings
        found = claims.list_deleted(self.state(), of.namespace, of.section("volumes"), self.api, of.name)
        if lost := [str(one) for one in found if one.lost]:
            raise UserError(*lost)
        return [str(one) for one in found]

    def _command(self) -> list[str]:
        command = [str(self.pulumi), "preview", "--json", "--non-interactive", "--color=never"]
        command += ["--stack", self.settings.name, "--config-file", str(self.settings.file)]
        if self.refresh:
            command.append("--refresh")
        return [*command, *(policy_pack.arguments(self.settings.name) if self.policies is Policies.RUN else ())]


@contextmanager
def opened(stack: str, context: str, policies: Policies = Policies.RUN) -> Iterator[Preview]:
    """The preview of a stack, on the cluster of its file or of `context`. Its temporary files are removed afterwards.

    A stack that does not exist gets a temporary state.
    """
    target = Target.of(context, stack=stack)
    settings, pulumi = StackSettings(stack, target.home), toolchain.tools().path("pulumi")
    settings.source()
    # The API server checks what would be applied, so a preview needs it.
    target.check_running()
    _compare(settings, target)
    environment = {**target.environment(), **recorded_usage.variables(settings, target)}
    with ExitStack() as passing:
        # The kubeconfig of a platform in a cloud is in the backend that has its stack.
        stays = settings.has_stack(pulumi, environment) or (bool(target.cloud) and settings.of_platform != settings)
        if not stays:
            home = Path(passing.enter_context(tempfile.TemporaryDirectory(prefix="tensorplane-preview-")))
            settings, environment = replace(settings, home=home), {**environment, **own_state(home)}
        needed = stand_ins.needed()
        path = passing.enter_context(stand_ins.on_path(needed, environment["PATH"]))
        api = None if target.cloud else target.api()
        environment = {**environment, "PATH": path}
        yield Preview(settings, pulumi, environment, policies, stand_ins=needed, api=api, stays=stays)


def _compare(settings: StackSettings, target: Target) -> None:
    """Raises the problems that only the cluster reveals. The engine reports those of the settings."""
    file = settings.source()
    if target.cloud or stack_config.is_of_program(file) or stack_config.encrypted(file, "cluster", "namespace"):
        return
    try:
        config = stack_config.load(file)
    except UserError:
        return
    cluster.refuse(config, target.api())


def own_state(home: Path) -> dict[str, str]:
    """Variables for running `pulumi` with a state in this folder."""
    # The user's passphrase stays: the stack's file may have values that are encrypted with it.
    given = {name: value for name, value in os.environ.items() if name != "PULUMI_BACKEND_URL"}
    return pulumi_environment(home, given)


def _events(stream: IO[str] | None, complaints: list[str]) -> Iterator[Event]:
    for line in stream or ():
        try:
            yield json.loads(line)
        except json.JSONDecodeError:  # output of the CLI before it streams events
            complaints.append(line.strip())


def _listen(stream: IO[str] | None, lines: list[str]) -> None:
    for line in stream or ():
        if line.startswith("error: "):
            lines.append(line.strip())
