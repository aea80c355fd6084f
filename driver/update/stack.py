"""Runs Pulumi for `tensorplane up`: settings that leave the checkout clean, `pulumi up` with progress, its outputs."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from tensorplane import toolchain
from tensorplane.core.children import Stopped
from tensorplane.core.errors import UserError
from tensorplane.core.kube import Kube
from tensorplane.core.paths import PROJECT
from tensorplane.core.step import Step
from tensorplane.core.tasks import command
from tensorplane.driver import claims, crash_reports
from tensorplane.driver.stack_settings import StackSettings, call
from tensorplane.driver.target import Target
from tensorplane.driver.tools import make_pulumi_work_here
from tensorplane.driver.update import (
    data_at_risk,
    engine_events,
    last_update,
    locks,
    pending_operations,
    policy_pack,
    protected_resources,
    recorded_usage,
    run_effects,
)
from tensorplane.driver.update.data_at_risk import Acknowledged
from tensorplane.driver.update.engine_events import STREAMED
from tensorplane.driver.update.policy_pack import PassRecord, Policies

_TAKE_OVER = {"PULUMI_K8S_ENABLE_PATCH_FORCE": "true"}
"""Lets Pulumi's Kubernetes provider write fields that belong to whoever changed them."""
_HEADING = re.compile(r"^  \S.*:$")
_NOISE = re.compile(r"^    (warning: using pulumi-\S+ from \$PATH|error: update failed$)")


@dataclass(frozen=True)
class Stack:
    """One Pulumi stack in one home: its settings, the CLI, and what the CLI runs with."""

    settings: StackSettings
    pulumi: Path
    environment: dict[str, str]

    @property
    def home(self) -> Path:
        return self.settings.home

    def with_settings(self, folder: Path, settings: str) -> Stack:
        """The same stack in the same home with other settings: run from a folder of links to the project.

        No file of the checkout changes.
        """
        project = folder / "project"
        project.mkdir(parents=True, exist_ok=True)
        for entry in PROJECT.iterdir():
            link = project / entry.name
            # Hidden entries are caches and version control; the environment alone is part of the project.
            is_other = entry.match("Pulumi.*.yaml") or (entry.name.startswith(".") and entry.name != ".venv")
            if not (link.is_symlink() or is_other):
                link.symlink_to(entry)
        (project / f"Pulumi.{self.settings.name}.yaml").write_text(settings)
        return replace(self, settings=replace(self.settings, project=project))

    def alone(self) -> AbstractContextManager[None]:
        """Locks the stack against updates by other processes; a UserError if one is running."""
        return locks.alone(self.home, self.settings.name)

    def prepare(self, step: Step) -> dict[str, Any]:
        """Creates the stack if it does not exist, and repairs the state after a killed update. Returns the state."""
        self.settings.make_stack(self.pulumi, self.environment)
        if backend := locks.folder(self.environment):
            locks.break_stale(backend, self.settings.name)
        state = self._exported()
        settled = pending_operations.settled(state)
        if settled is None:
            return state
        step.note("an earlier update was interrupted; refreshing the state of its resources")
        self._import(settled)
        self._update(["refresh"], step)
        return self._exported()

    def _exported(self) -> dict[str, Any]:
        state: dict[str, Any] = json.loads(self._call("stack", "export"))
        return state

    def _import(self, state: dict[str, Any]) -> None:
        with tempfile.NamedTemporaryFile("w", suffix=".json", dir=self.home) as file:
            json.dump(state, file)
            file.flush()
            self._call("stack", "import", "--file", file.name)

    def up(
        self,
        step: Step,
        api: Kube | None = None,
        show: Callable[[str], None] = print,
        *,
        previewed: bool = False,
        refresh: bool = False,
        policies: Policies = Policies.SKIP,
        state: dict[str, Any] | None = None,
    ) -> dict[str, int]:
        """`pulumi up`; returns the number of resources per operation (`same`, `create`, …).

        With the cluster's API, claims that somebody deleted are created again; `show` prints a line for each.
        `previewed`: the caller has previewed the update, with the policies. `policies`: whether they run; unless they
        have passed before, in a preview too, so that a violation stops the update before any change. `refresh`: read
        every resource first, and restore what somebody changed. `state`: the stack's, if it was read just now.
        """
        state = self._exported() if state is None else state
        if api:
            self._forget_gone_claims(state, api, step, show)
        volumes = {f"{self.settings.namespace}/{name}" for name in self.settings.section("volumes")}
        # A preview takes seconds, and a refusal in it comes before any change. Without it, the update stops half-way.
        refuses = not previewed and protected_resources.has_undeclared(state, volumes)
        record = PassRecord.of(self.settings, self.environment) if policies is Policies.RUN else None
        preview = refuses or bool(record and not (previewed or record.passed))
        if not (previewed or refuses) and self._may_delete_or_restart(state):
            preview = not self._print_effects(state, api, step, show, policies)
        more = [*(["--refresh"] if refresh else ()), *policy_pack.update_arguments(policies, self.settings.name)]
        # A new stack has nothing to restore, and its state would keep the variable.
        restore = refresh and bool(state["deployment"].get("resources"))
        self._update(["up", *more], step, preview=preview, variables=_TAKE_OVER if restore else MappingProxyType({}))
        if record:
            record.save()
        updates = json.loads(self._call("stack", "history", "--json", "--page-size", "1"))
        changes = dict(updates[0].get("resourceChanges") or {})
        # Resources that the program only reads, such as the stack's own outputs, do not count as changes.
        changes.pop("read", None)
        return changes

    def _forget_gone_claims(self, state: dict[str, Any], api: Kube, step: Step, show: Callable[[str], None]) -> None:
        """Refreshes the claims that are gone. A UserError if the update would replace lost data by empty volumes."""
        of = self.settings
        found = claims.list_deleted(state, of.namespace, of.section("volumes"), api, of.name)
        if lost := [str(one) for one in found if one.lost]:
            raise UserError(*lost)
        for one in found:
            show(str(one))
        if urns := [one.urn for one in found if not one.terminating]:
            self._update(["refresh", *(word for urn in urns for word in ("--target", urn))], step)

    def _may_delete_or_restart(self, state: dict[str, Any]) -> bool:
        """Whether the update may delete data, or restart runs."""
        data, jobs = data_at_risk.has_unprotected(state), run_effects.has_jobs(state)
        if not (data or jobs):
            return False
        differ = self._differing()
        return (
            (data and bool(differ & {"cluster", "namespace", "teams", "volumes"}))
            or (jobs and bool(differ & {"namespace", *run_effects.SECTIONS}))
            or (jobs and run_effects.code_differs(state, self.settings.section("workloads")))
        )

    def _differing(self) -> set[str]:
        """The sections of the settings that differ from the last update; all of them if it failed."""
        before = last_update.settings(json.loads(self._call("stack", "history", "--json", "--page-size", "1")))
        if before is None:
            return {*run_effects.SECTIONS, "namespace", "teams"}
        sections = (*run_effects.SECTIONS, "teams")
        differ = {each for each in sections if self.settings.section(each) != before.get(each, {})}
        renamed = before.get("namespace", self.settings.namespace) != self.settings.namespace
        return differ | {"namespace"} if renamed else differ

    def _print_effects(
        self, state: dict[str, Any], api: Kube | None, step: Step, show: Callable[[str], None], policies: Policies
    ) -> bool:
        """Prints what happens to each run and to data; False if the preview failed. A UserError if data is at risk."""
        pack = policy_pack.arguments(self.settings.name) if policies is Policies.RUN else []
        try:
            shown = self._run(["preview", "--json", *pack], step, watch=lambda line: None, more=STREAMED)
        except Stopped:
            raise
        except UserError:
            return False
        events = engine_events.read_events(shown)
        for line in run_effects.effect_lines(engine_events.list_job_steps(events), api):
            show(line)
        risks = data_at_risk.find_risks(
            engine_events.list_planned(events),
            Acknowledged.of(self.settings),
            export=lambda: state,
            cluster=lambda: (
                data_at_risk.ClusterVolumes.of(api, self.settings.namespace) if api else data_at_risk.ClusterVolumes()
            ),
        )
        if stopping := [risk.text for risk in risks if risk.stops_update]:
            raise UserError(*stopping)
        for risk in risks:
            show(risk.text)
        return True

    def destroy(self, step: Step) -> None:
        """`pulumi destroy`: what the stack marks as retained stays in the cluster."""
        # The program takes the snapshots before a volume is deleted.
        self._update(["destroy", "--run-program"], step)

    def skipped_policies(self) -> bool:
        """Whether the last update of the stack skipped the policies."""
        return policy_pack.has_skipped(json.loads(self._call("stack", "history", "--json")))

    def outputs(self) -> dict[str, Any]:
        """The stack's outputs, secrets shown: for use in this process, not for printing."""
        outputs: dict[str, Any] = json.loads(self._call("stack", "output", "--json", "--show-secrets"))
        return outputs

    def _update(
        self,
        arguments: list[str],
        step: Step,
        *,
        preview: bool = False,
        variables: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        words = [*arguments, *([] if preview else ["--skip-preview"]), "--yes", "--suppress-outputs"]
        try:
            self._run(words, step, more=variables)
        except Stopped:
            raise
        except UserError as error:
            # The log also holds earlier runs; each starts with its command line.
            log = self._log(arguments[0])
            output = log.read_text().rpartition(f" $ {self.pulumi} ")[2]
            if held := locks.refusal(output, self.settings.name):
                raise held from None
            if violated := policy_pack.violations(output):
                raise UserError(*violated, f"  log: {log}") from None
            errors = crash_reports.fold_traceback(diagnostics(output), "report it with this log")
            raise UserError(*errors, f"  log: {log}") if errors else error from None

    def _run(
        self,
        arguments: list[str],
        step: Step,
        watch: Callable[[str], None] | None = None,
        more: Mapping[str, str] = MappingProxyType({}),
    ) -> str:
        return command(
            [
                str(self.pulumi),
                *arguments,
                *("--non-interactive", "--color=never"),
                *("--stack", self.settings.name, "--config-file", str(self.settings.file)),
            ],
            step=step,
            env={**self.environment, **more},
            cwd=self.settings.project,
            log=self._log(arguments[0]),
            watch=watch,
        )

    def _log(self, verb: str) -> Path:
        return self.home / "logs" / self.settings.name / f"pulumi-{verb}.log"

    def _call(self, *arguments: str) -> str:
        try:
            return call(
                [self.pulumi, *arguments, "--stack", self.settings.name], self.settings.folder, self.environment
            )
        except UserError as error:
            raise locks.refusal(str(error), self.settings.name) or error from None


def open_stack(target: Target) -> Stack:
    """A target's stack, its state in the target's home."""
    settings = StackSettings(target.stack, target.home)
    make_pulumi_work_here()
    environment = {**target.environment(), **recorded_usage.variables(settings, target)}
    return Stack(settings, toolchain.tools().path("pulumi"), environment)


def diagnostics(output: str) -> list[str]:
    """The errors of the update in `output`: for each resource its name, then what is wrong with it.

    Empty if the update ended before its first resource. A preview before it, as on a stack's first update with
    policies, has diagnostics of its own.
    """
    _, heading, last = output.rpartition("\nDiagnostics:\n")
    section = protected_resources.reword(last.partition("\nResources:\n")[0]) if heading else ""
    lines = [line for line in section.splitlines() if line.strip() and not _NOISE.search(line)]
    # A resource's heading without a line below it had only noise.
    following = [*lines, ""][1:]
    errors = [
        line for line, after in zip(lines, following, strict=True) if not _HEADING.match(line) or after[:4] == "    "
    ]
    return [line[2:].replace("  error: ", "  ", 1) for line in errors]
