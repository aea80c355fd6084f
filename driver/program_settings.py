"""The settings of a stack that a program in Python declares, as its last update recorded them in the stack's outputs.

So `tensorplane why` and other commands know the stack without running the program, which may need a cloud.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from tensorplane import stack_file
from tensorplane.components.base import outputs
from tensorplane.core.paths import context_home
from tensorplane.driver.update import last_update
from tensorplane.embedded.instance import Instance
from tensorplane.stack_file import ENCRYPTED, StackFile


@cache
def recorded(project: Path, stack: str) -> StackFile | None:
    """The settings of a project's stack as a stack's file has them, without what other resources produce; None if the
    last update recorded none."""
    name = stack_file.project_name(project)
    states = [home / "pulumi" / ".pulumi" / "stacks" / name / f"{stack}.json" for home in _homes()]
    found = [text for state in states if state.is_file() and (text := _in_state(json.loads(state.read_bytes())))]
    text = found[0] if found else _in_backend(project, stack)
    if not text:
        return None
    config = {f"{stack_file.PROJECT}:{key}": _as_read(value) for key, value in json.loads(text).items()}
    return StackFile(f"Pulumi.{stack}.yaml", config, folder=project)


def _homes() -> Iterable[Path]:
    """Where `tensorplane up` keeps states: that of a context which the caller names, and that of all other stacks."""
    context = os.environ.get("TENSORPLANE_CONTEXT")
    return (*([context_home(context)] if context else ()), Instance.current().stacks)


def _in_state(state: Mapping[str, Any]) -> str | None:
    """The output in a state file of a backend in a folder."""
    latest = (state.get("checkpoint") or {}).get("latest") or {}
    return last_update.outputs(latest.get("resources") or ()).get(outputs.SETTINGS_KEY)


def _in_backend(project: Path, stack: str) -> str | None:
    """The output in the user's own backend, if there is one: that of PULUMI_BACKEND_URL or `pulumi login`."""
    pulumi = shutil.which("pulumi")
    if not pulumi or not (os.environ.get("PULUMI_BACKEND_URL") or _has_login()):
        return None
    command = [pulumi, "stack", "output", outputs.SETTINGS_KEY, "--stack", stack, "--non-interactive"]
    done = subprocess.run(command, cwd=project, capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else None


def _has_login() -> bool:
    home = Path(os.environ.get("PULUMI_HOME") or Path.home() / ".pulumi")
    return (home / "credentials.json").is_file()


def _as_read(value: Any) -> Any:
    """A recorded value as the reader of files has it."""
    if isinstance(value, dict):
        return ENCRYPTED if value.keys() == {"secure"} else {key: _as_read(each) for key, each in value.items()}
    return [_as_read(each) for each in value] if isinstance(value, list) else value
