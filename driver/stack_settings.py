"""A stack's settings as `pulumi` reads them: a copy in the home, so that Pulumi's salt never lands in the checkout."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tensorplane import stack_file
from tensorplane.core import whole_file
from tensorplane.core.errors import UserError
from tensorplane.core.paths import PROJECT
from tensorplane.driver import program_settings
from tensorplane.stack_file import StackFile

ENVIRONMENT = (
    "environments work only with state in Pulumi Cloud, and make keeps it elsewhere; remove the key, or "
    "keep the stack there"
)
"""The problem of a stack's file that has the key `environment`."""
_SALT = re.compile(r"^encryptionsalt:.*\n?", re.MULTILINE)


@dataclass(frozen=True)
class StackSettings:
    """The settings of one stack in one home.

    Pulumi writes the salt of the passphrase into the settings, and reformats them. Each home has a passphrase of its
    own, so the salt belongs to the home, and the project's file stays as it is in version control.
    """

    name: str
    home: Path
    project: Path = PROJECT

    @property
    def folder(self) -> Path:
        return settings_folder(self.home, stack_file.project_name(self.project))

    @property
    def file(self) -> Path:
        """The copy that `pulumi --config-file` takes."""
        return self.folder / f"Pulumi.{self.name}.yaml"

    def section(self, name: str) -> dict[str, Any]:
        """One section under `tensorplane:`, unchecked: the stack's program checks it. A workload stack has the sections
        of its platform, apart from its own workloads."""
        found = (self if name == "workloads" else self.of_platform)._written.section(name)
        return found if isinstance(found, dict) else {}

    @property
    def namespace(self) -> str:
        """The namespace of the stack's objects, as the stack's program derives it."""
        of = self.of_platform
        written = of._written.section("namespace")
        return written if isinstance(written, str) else f"tensorplane-{of.name}"

    @property
    def of_platform(self) -> StackSettings:
        """The settings of the stack with the platform: those that `platform` names, else these."""
        platform = self._written.section("platform")
        return replace(self, name=platform) if isinstance(platform, str) and platform else self

    @property
    def _written(self) -> StackFile:
        return declared(self.project / self.file.name)

    def source(self) -> Path:
        """The project's file. A UserError if it does not exist, nor a program's settings in its place."""
        source = self.project / self.file.name
        if not (source.exists() or declared(source).config):
            have = stack_names(self.project)
            remedy = (
                f"choose one of {', '.join(have)}"
                if have
                else "run this in a project's folder (members of teams: docs/running-jobs.md)"
            )
            raise UserError(f"stack {self.name}: {source.name} does not exist; {remedy}")
        return source

    def refresh(self) -> None:
        """Copies the project's settings, and keeps this home's salt. A program's stack may have no file."""
        source = self.source()
        self.folder.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(self.project / "Pulumi.yaml", self.folder / "Pulumi.yaml")
        found, text = read(source), source.read_text(encoding="utf-8-sig") if source.exists() else ""
        salt = _SALT.search(self.file.read_text()) if self.file.exists() else None
        # Encrypted values in the project's file can only be read with that file's salt. Without such values, a salt in
        # it was added by plain `pulumi`, perhaps on another machine with another passphrase.
        if not any(stack_file.encrypted(found.config)):
            text = (salt.group(0).rstrip("\n") + "\n" if salt else "") + _SALT.sub("", text)
        whole_file.write(self.file, text)

    def has_stack(self, pulumi: Path, environment: Mapping[str, str]) -> bool:
        """Whether the stack exists in the backend that the environment names."""
        return self._is_in(self._list_stacks(pulumi, environment))

    def _is_in(self, stacks: list[Mapping[str, Any]]) -> bool:
        return any(stack["name"].split("/")[-1] == self.name for stack in stacks)

    def _list_stacks(self, pulumi: Path, environment: Mapping[str, str]) -> list[Mapping[str, Any]]:
        """The stacks of the backend."""
        stacks: list[Mapping[str, Any]] = json.loads(call([pulumi, "stack", "ls", "--json"], self.project, environment))
        return stacks

    def _refuse_environment(self, environment: Mapping[str, str]) -> None:
        source = self.source()
        if "environment" in read(source).others and not _is_cloud(environment):
            raise UserError(f"{source.name}: environment: {ENVIRONMENT}")

    def make_stack(self, pulumi: Path, environment: Mapping[str, str], *, select: bool = True) -> None:
        """Creates the stack if it does not exist; selects it for plain `pulumi` commands if none is selected.

        `select=False` keeps the selection, for a temporary stack.
        """
        self._refuse_environment(environment)
        self.refresh()
        stacks = self._list_stacks(pulumi, environment)
        if not self._is_in(stacks):
            try:
                call([pulumi, "stack", "init", self.name, "--no-select"], self.folder, environment)
            except UserError:
                # Another command may have made it just now.
                if not self.has_stack(pulumi, environment):
                    raise
        if select and not any(stack["current"] for stack in stacks):
            call([pulumi, "stack", "select", self.name], self.project, environment)


def settings_folder(home: Path, project: str) -> Path:
    """Where a home has the copies of one project's settings: stacks of several projects may have the same name."""
    folder = home / "settings"
    return folder if project == stack_file.PROJECT else folder / project


def _is_cloud(environment: Mapping[str, str]) -> bool:
    # Without a URL, the backend is that of `pulumi login`, which is not known here.
    return environment.get("PULUMI_BACKEND_URL", "https:").startswith("http")


def stack_names(project: Path = PROJECT) -> list[str]:
    """The stacks that the project has settings for."""
    return sorted(path.name.split(".")[1] for path in project.glob("Pulumi.*.yaml"))


def read(source: Path) -> StackFile:
    """A stack's settings, unchecked; empty without a file. A UserError if it cannot be read."""
    try:
        return stack_file.read(source) if source.exists() else StackFile()
    except stack_file.Unreadable as error:
        raise UserError(str(error)) from None


def declared(source: Path) -> StackFile:
    """A stack's settings, unchecked: those of its file, else those that its program in Python declared at the last
    update."""
    found = read(source)
    if has_settings(found) or (found.problems and not found.has_no_settings):
        return found
    return program_settings.recorded(source.parent, source.name.split(".")[1]) or found


def has_settings(found: StackFile) -> bool:
    """Whether a stack's file has settings of tensorplane, rather than of a program alone."""
    return any(key.startswith(f"{stack_file.PROJECT}:") for key in found.config)


def call(arguments: list[str | Path], folder: Path, environment: Mapping[str, str]) -> str:
    """What a quick `pulumi` command prints. A UserError with its error message if it fails."""
    result = subprocess.run(
        [*arguments, "--non-interactive", "--color=never"],
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    if result.returncode:
        words = " ".join(str(word) for word in arguments[1:])
        raise UserError(f"pulumi {words}: {(result.stderr or result.stdout).strip().removeprefix('error: ')}")
    return result.stdout
