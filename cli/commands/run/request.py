"""The job that a command line or a file asks for, as the settings of a workload. Pure, but for reading the file."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path, PurePosixPath
from typing import Any

import yaml

from tensorplane.components.base.names import shorten
from tensorplane.core.errors import UserError

FLAGS = {
    ("queue",): "--queue",
    ("strategy", "workers"): "--workers",
    ("resources", "accelerator"): "--accelerator",
    ("resources", "gpus"): "--per-worker",
    ("resources", "cpus"): "--cpus",
    ("resources", "memoryGib"): "--memory-gib",
    ("volumes",): "--volume",
    ("model",): "--volume",
    ("tensorboard",): "--volume",
    ("files",): "files of this folder",
    ("env",): "--env",
    ("packages",): "--package",
    ("image",): "--image",
    ("onSuccess", "publish"): "--publish",
    ("command",): "COMMAND",
}
"""The options that set a key of the job's settings, for messages."""
_PYTHON = re.compile(r"(.*/)?python(3(\.\d+)?)?")
_SOURCE_OF_ALL = {".": "."}


@dataclass(frozen=True)
class JobOptions:
    """The options of the command line that set the job's settings; None and empty: not given."""

    queue: str | None = None
    workers: int | None = None
    accelerator: str | None = None
    per_worker: int | None = None
    cpus: float | None = None
    memory_gib: float | None = None
    volumes: tuple[str, ...] = ()
    variables: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    image: str | None = None
    publish: str | None = None

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> JobOptions:
        """From the values of a command's parameters."""
        return cls(**{field.name: options[field.name] for field in fields(cls)})


@dataclass(frozen=True)
class JobRequest:
    """What is asked for."""

    name: str
    settings: Mapping[str, Any]
    """As below `workloads: NAME:` in a stack's file."""
    folder: Path
    """The folder that its files are relative to."""
    file: Path | None = None
    """Where the settings come from; None: the command line."""
    part: str = ""
    """The key of the settings that has those of a training job: `trial` of a sweep; empty: they are these."""

    @property
    def training(self) -> Mapping[str, Any]:
        """The settings of the training job."""
        return section(self.settings, self.part) if self.part else self.settings

    def with_training(self, **changed: Any) -> JobRequest:
        """The same with other settings of the training job."""
        settings = {**self.training, **changed}
        return replace(self, settings={**self.settings, self.part: settings} if self.part else settings)

    def path_of(self, *key: str) -> str:
        """How a message names a key of the training job's settings."""
        return self.path((self.part, *key) if self.part else key)

    def path(self, key: Sequence[str]) -> str:
        """How a message names a key of the settings."""
        if self.file is None:
            for length in range(len(key), 0, -1):
                if flag := FLAGS.get(tuple(key[:length])):
                    return flag
        return ".".join((str(self.file), *key) if self.file else key)


def job(
    name: str | None, file: Path | None, command: Sequence[str], given: JobOptions, *, team: str | None = None
) -> JobRequest:
    """The job. A UserError if neither a command nor a file says what to run, or if the file cannot be read.

    `team`: whose job it is; None for the stack's own.
    """
    if not command and file is None:
        raise UserError(
            "COMMAND: missing; add it after --, as in: tensorplane run -- python train.py; or name a file with -f"
        )
    settings = of_file(file) if file else {}
    if command:
        settings.pop("script", None)
        # In images, Python is python3.
        settings["command"] = ["python3" if _PYTHON.fullmatch(command[0]) else command[0], *command[1:]]
    job_name = name or (file.stem if file else _name_of(command))
    settings = {**completed(job_name, _with(settings, given), team), "kind": "trainingJob"}
    return JobRequest(job_name, settings, folder_of(file), file)


def completed(name: str, settings: Mapping[str, Any], team: str | None) -> dict[str, Any]:
    """The settings of a training job, with the files of its folder, one pod, and its outputs on its first volume.

    Those of a team's job are below a folder of the team, because other teams may have jobs of the same name.
    """
    found = {"files": _SOURCE_OF_ALL, "strategy": {"kind": "single"}, **settings}
    return with_outputs(name, found, team)


def folder_of(file: Path | None) -> Path:
    """The folder whose files a job gets. A UserError if credentials are among them."""
    folder = (file.parent if file else Path()).resolve()
    _keep_credentials(folder)
    return folder


def _keep_credentials(folder: Path) -> None:
    """A UserError if the kubeconfig is among the files that the job gets: everybody who may read it could use it."""
    for name in filter(None, os.environ.get("KUBECONFIG", "").split(os.pathsep)):
        path = Path(name).expanduser().resolve()
        if path.is_relative_to(folder) and not any(part.startswith(".") for part in path.relative_to(folder).parts):
            raise UserError(f"KUBECONFIG: {path} is among the files that the job gets; move it, for example to ~/.kube")


def of_file(file: Path) -> dict[str, Any]:
    """The map in a file. A UserError if it cannot be read, or has none."""
    try:
        found = yaml.safe_load(file.read_text())
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{file}: {getattr(error, 'strerror', None) or 'is not text'}; correct -f") from None
    except yaml.YAMLError as error:
        raise UserError(f"{file}: is not YAML: {' '.join(str(error).split())}") from None
    if not isinstance(found, dict) or not all(isinstance(key, str) for key in found):
        raise UserError(
            f"{file}: is not a map of a job's settings, such as: {{strategy: {{kind: single}}, script: train.py}}"
        )
    return found


def _with(settings: Mapping[str, Any], given: JobOptions) -> dict[str, Any]:
    """The settings with those of the command line, which win."""
    resources = {
        "cpus": given.cpus,
        "memoryGib": given.memory_gib,
        "gpus": given.per_worker if given.per_worker is not None else (1 if given.accelerator else None),
        "accelerator": given.accelerator,
    }
    found = dict(settings)
    for key, value in {
        "queue": given.queue,
        "image": given.image,
        "packages": list(given.packages),
        "resources": {
            **section(found, "resources"),
            **{name: each for name, each in resources.items() if each is not None},
        },
        "volumes": {**section(found, "volumes"), **dict(map(_volume, given.volumes))},
        "env": {**section(found, "env"), **dict(map(_variable, given.variables))},
        "onSuccess": {**section(found, "onSuccess"), **({"publish": given.publish} if given.publish else {})},
        "strategy": _strategy(section(found, "strategy"), given),
    }.items():
        if value:
            found[key] = value
    return found


def _strategy(stated: Mapping[str, Any], given: JobOptions) -> dict[str, Any] | None:
    if given.workers is None:
        several = not stated and (given.per_worker or 0) > 1
        return {"kind": "mirrored"} if several else dict(stated) or None
    if stated and stated.get("kind") not in ("single", "mirrored", "multiWorkerMirrored"):
        return {**stated, "workers": given.workers}
    if given.workers > 1:
        return {**stated, "kind": "multiWorkerMirrored", "workers": given.workers}
    return {"kind": "mirrored" if (given.per_worker or 0) > 1 else "single"}


def section(settings: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """A section of the settings; empty if it is missing, or no map, which the check of the settings reports."""
    found = settings.get(key)
    return found if isinstance(found, Mapping) else {}


def _volume(text: str) -> tuple[str, str | dict[str, Any] | None]:
    name, _, rest = text.partition(":")
    path = rest.removesuffix(":ro")
    return name, {"path": path, "readOnly": True} if path != rest else path or None


def _variable(text: str) -> tuple[str, str]:
    name, sign, value = text.partition("=")
    if not sign:
        raise UserError(f"--env: {text!r} has no value; write {text}=VALUE")
    return name, value


def _name_of(command: Sequence[str]) -> str:
    """The name of the script that a command runs, else that of its program."""
    words = [word for word in command if not word.startswith("-")]
    stem = PurePosixPath(next((word for word in words if word.endswith(".py")), words[0] if words else "job")).stem
    return shorten(re.sub(r"[^a-z0-9]+", "-", stem.lower()).strip("-") or "job", 20)


def with_outputs(name: str, settings: Mapping[str, Any], team: str | None) -> dict[str, Any]:
    """A job's settings with folders on the first volume that its pods may write to.

    A team's are below a folder of the team: with the same name and files, jobs of others have the same runs, and would
    resume from its checkpoints. Folders that the settings name stay.
    """
    found, below = dict(settings), f"{team}/" if team else ""
    if volume := _first_writable(settings.get("volumes")):
        found.setdefault("model", {"volume": volume, "path": f"{below}{name}"})
        found.setdefault("checkpoints", {"volume": volume})
        found.setdefault("tensorboard", {"volume": volume})
    for key in ("checkpoints", "tensorboard"):
        if team and isinstance(location := found.get(key), Mapping):
            found[key] = {"path": f"{below}{key}", **location}
    return found


def _first_writable(volumes: Any) -> str | None:
    if not isinstance(volumes, Mapping):
        return None  # which the check of the settings reports
    return next((name for name, of in volumes.items() if not (isinstance(of, Mapping) and of.get("readOnly"))), None)
