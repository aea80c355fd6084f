"""Runs Pulumi for the main job: settings that leave the checkout clean, `pulumi up` with progress, its outputs."""

from __future__ import annotations

import json
import re
import tempfile
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from embedded import adopted_claims, kept_volumes, locks, protected, recover
from embedded.children import Stopped
from embedded.fault import Fault
from embedded.hosts.stack_settings import StackSettings, call
from embedded.progress import Step
from embedded.tasks import command

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

    def alone(self) -> AbstractContextManager[None]:
        """Keeps other processes from updating the stack meanwhile; a Fault where one does."""
        return locks.alone(self.home, self.settings.name)

    def prepare(self, step: Step) -> None:
        """Make the stack exist, and mend what a killed update left behind."""
        self.settings.make_stack(self.pulumi, self.environment)
        if backend := locks.folder(self.environment):
            locks.break_stale(backend, self.settings.name)
        settled = recover.settled(json.loads(self._call("stack", "export")))
        if settled is not None:
            step.note("an earlier update was cut off: reading back what it had begun")
            self._import(settled)
            self._update(["refresh"], step)

    def bring_up_to_date(self, claims: list[dict[str, Any]], step: Step) -> None:
        """Take over what the cluster's start did to the stack's claims."""
        known = adopted_claims.brought_up_to_date(json.loads(self._call("stack", "export")), claims)
        if known is not None:
            step.note("the volumes are in the cluster's pool now")
            self._import(known)

    def _import(self, state: dict[str, Any]) -> None:
        with tempfile.NamedTemporaryFile("w", suffix=".json", dir=self.home) as file:
            json.dump(state, file)
            file.flush()
            self._call("stack", "import", "--file", file.name)

    def up(self, step: Step) -> dict[str, int]:
        """`pulumi up`; the number of resources per operation (`same`, `create`, …) that it came to."""
        state = json.loads(self._call("stack", "export"))
        volumes = {f"{self.settings.namespace}/{name}" for name in self.settings.section("volumes")}
        # A preview costs seconds, and refuses before anything is changed. Without one, what comes before is done.
        self._update(["up"], step, look=kept_volumes.undeclared(state, volumes))
        history = json.loads(self._call("stack", "history", "--json", "--page-size", "1"))
        return dict(history[0].get("resourceChanges") or {})

    def destroy(self, step: Step) -> None:
        """`pulumi destroy`: what the stack marks as retained stays in the cluster."""
        # The program takes the snapshots before a volume is deleted.
        self._update(["destroy", "--run-program"], step)

    def outputs(self) -> dict[str, Any]:
        """The stack's outputs, secrets shown: for use in this process, not for printing."""
        outputs: dict[str, Any] = json.loads(self._call("stack", "output", "--json", "--show-secrets"))
        return outputs

    def _update(self, arguments: list[str], step: Step, *, look: bool = False) -> None:
        log = self.home / "logs" / self.settings.name / f"pulumi-{arguments[0]}.log"
        try:
            command(
                [
                    str(self.pulumi),
                    *arguments,
                    *([] if look else ["--skip-preview"]),
                    *("--yes", "--non-interactive", "--color=never", "--suppress-outputs"),
                    *("--stack", self.settings.name, "--config-file", str(self.settings.file)),
                ],
                step=step,
                env=self.environment,
                cwd=self.settings.project,
                log=log,
            )
        except Stopped:
            raise
        except Fault as fault:
            # The log begins with earlier runs; each starts with its command line.
            output = log.read_text().rpartition(f" $ {self.pulumi} ")[2]
            if held := locks.refusal(output, self.settings.name):
                raise held from None
            errors = diagnostics(output)
            raise Fault(*errors, f"  log: {log}") if errors else fault from None

    def _call(self, *arguments: str) -> str:
        try:
            return call(
                [self.pulumi, *arguments, "--stack", self.settings.name], self.settings.folder, self.environment
            )
        except Fault as fault:
            raise locks.refusal(str(fault), self.settings.name) or fault from None


def diagnostics(output: str) -> list[str]:
    """The errors of the update in `output`, as a person wants them: the resource, then what is wrong with it.

    None where it ended before it came to any resource.
    """
    section = protected.explained(output.partition("\nDiagnostics:\n")[2].partition("\nResources:\n")[0])
    lines = [line for line in section.splitlines() if line.strip() and not _NOISE.search(line)]
    # A resource's heading without a line under it had only noise to say.
    following = [*lines, ""][1:]
    kept = [
        line for line, after in zip(lines, following, strict=True) if not _HEADING.match(line) or after[:4] == "    "
    ]
    return [line[2:].replace("  error: ", "  ", 1) for line in kept]
