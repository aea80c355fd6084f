"""Runs Pulumi for the main job: settings that leave the checkout clean, `pulumi up` with progress, its outputs."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from embedded import recover
from embedded.fault import Fault
from embedded.paths import PROJECT
from embedded.progress import Step
from embedded.tasks import command

_SALT = re.compile(r"^encryptionsalt:.*\n?", re.MULTILINE)


@dataclass(frozen=True)
class Stack:
    """One Pulumi stack of this project, with its state and settings in a folder of their own.

    `home` holds `pulumi/` (state), `passphrase` and `settings/`; `environment` is what `pulumi` runs with.
    """

    name: str
    home: Path
    pulumi: Path
    environment: dict[str, str]

    @property
    def _settings(self) -> Path:
        return self.home / "settings"

    @property
    def settings_file(self) -> Path:
        """This home's copy of Pulumi.<stack>.yaml.

        Pulumi writes the salt of the passphrase into the settings. Each home has a passphrase of its own, so the salt
        belongs to the home, and the project's file stays as it is in version control.
        """
        return self._settings / f"Pulumi.{self.name}.yaml"

    def _refresh_settings(self) -> None:
        self._settings.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(PROJECT / "Pulumi.yaml", self._settings / "Pulumi.yaml")
        settings = (PROJECT / self.settings_file.name).read_text()
        known = _SALT.search(self.settings_file.read_text()) if self.settings_file.exists() else None
        if known and "secure:" not in settings:
            settings = known.group(0).rstrip("\n") + "\n" + _SALT.sub("", settings)
        self.settings_file.write_text(settings)

    def prepare(self, step: Step) -> None:
        """Make the stack and its settings exist, and mend what a killed update left behind."""
        (self.home / "pulumi").mkdir(parents=True, exist_ok=True)
        self._refresh_settings()
        if not self._exists():
            self._call(["stack", "init", self.name, "--no-select"], cwd=self._settings)
        recover.break_stale_locks(self.home / "pulumi", self.name)
        pending = recover.pending_creates(json.loads(self._call(["stack", "export"])))
        if pending is not None:
            step.note("an earlier update was cut off: reading back what it had begun")
            self._update(["refresh", *recover.refresh_arguments(pending)], step)

    def _exists(self) -> bool:
        stacks = json.loads(self._call(["stack", "ls", "--json"], cwd=self._settings, stack=False))
        return any(stack["name"].split("/")[-1] == self.name for stack in stacks)

    def up(self, step: Step) -> dict[str, int]:
        """`pulumi up`; the number of resources per operation (`same`, `create`, …) that it came to."""
        self._update(["up"], step)
        history = json.loads(self._call(["stack", "history", "--json", "--page-size", "1"]))
        return dict(history[0].get("resourceChanges") or {})

    def destroy(self, step: Step) -> None:
        """`pulumi destroy`: what the stack marks as retained stays in the cluster."""
        self._update(["destroy"], step)

    def outputs(self) -> dict[str, Any]:
        """The stack's outputs, secrets shown: for use in this process, not for printing."""
        outputs: dict[str, Any] = json.loads(self._call(["stack", "output", "--json", "--show-secrets"]))
        return outputs

    def _update(self, arguments: list[str], step: Step) -> None:
        command(
            [
                str(self.pulumi),
                *arguments,
                *("--yes", "--skip-preview", "--non-interactive", "--color=never", "--suppress-outputs"),
                *("--stack", self.name, "--cwd", str(PROJECT), "--config-file", str(self.settings_file)),
            ],
            step=step,
            env=self.environment,
            log=self.home / "logs" / f"pulumi-{arguments[0]}.log",
        )

    def _call(self, arguments: list[str], *, cwd: Path | None = None, stack: bool = True) -> str:
        selected = ["--stack", self.name] if stack and arguments[:2] != ["stack", "init"] else []
        result = subprocess.run(
            [str(self.pulumi), *arguments, *selected, "--non-interactive", "--color=never"],
            cwd=cwd or self._settings,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
        )
        if result.returncode:
            raise Fault(f"pulumi {' '.join(arguments)}: {result.stderr.strip() or result.stdout.strip()}")
        return result.stdout
