"""The job that a command line or a file asks for, as the settings of a workload. Pure, but for reading the file."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path, PurePosixPath
from typing import Any

import yaml

from components.base.names import shorten
from embedded.fault import Fault

FLAGS = {
    ("queue",): "--queue",
    ("strategy", "workers"): "--workers",
    ("resources", "accelerator"): "--accelerator",
    ("resources", "gpus"): "--per-worker",
    ("resources", "cpus"): "--cpus",
    ("resources", "memoryGib"): "--memory-gib",
    ("volumes",): "--volume",
    ("model",): "--volume",
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
class Given:
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
    def of(cls, options: Mapping[str, Any]) -> Given:
        """From the values of a command's parameters."""
        return cls(**{field.name: options[field.name] for field in fields(cls)})


@dataclass(frozen=True)
class Job:
    """What is asked for."""

    name: str
    settings: Mapping[str, Any]
    """As below `workloads: NAME:` in a stack's file."""
    folder: Path
    """The folder that its files are relative to."""
    file: Path | None = None
    """Where the settings come from; None: the command line."""

    def place(self, key: Sequence[str]) -> str:
        """How a message names a key of the settings."""
        if self.file is None:
            for length in range(len(key), 0, -1):
                if flag := FLAGS.get(tuple(key[:length])):
                    return flag
        return ".".join((str(self.file), *key) if self.file else key)


def job(name: str | None, file: Path | None, command: Sequence[str], given: Given) -> Job:
    """The job. A Fault if neither a command nor a file says what to run, or if the file cannot be read."""
    if not command and file is None:
        raise Fault(
            "COMMAND: missing; add it after --, as in: tensorplane run -- python train.py; or name a file with -f"
        )
    settings = _of_file(file) if file else {}
    if command:
        settings.pop("script", None)
        # In images, Python is python3.
        settings["command"] = ["python3" if _PYTHON.fullmatch(command[0]) else command[0], *command[1:]]
    settings = _with(settings, given)
    settings.setdefault("files", _SOURCE_OF_ALL)
    settings.setdefault("strategy", {"kind": "single"})
    settings["kind"] = "trainingJob"
    named = name or (file.stem if file else _named(command))
    _outputs(named, settings)
    folder = (file.parent if file else Path()).resolve()
    _keep_credentials(folder)
    return Job(named, settings, folder, file)


def _keep_credentials(folder: Path) -> None:
    """A Fault if the kubeconfig is among the files that the job gets: everybody who may read it could use it."""
    for name in filter(None, os.environ.get("KUBECONFIG", "").split(os.pathsep)):
        path = Path(name).expanduser().resolve()
        if path.is_relative_to(folder) and not any(part.startswith(".") for part in path.relative_to(folder).parts):
            raise Fault(f"KUBECONFIG: {path} is among the files that the job gets; move it, for example to ~/.kube")


def _of_file(file: Path) -> dict[str, Any]:
    try:
        found = yaml.safe_load(file.read_text())
    except (OSError, UnicodeDecodeError) as error:
        raise Fault(f"{file}: {getattr(error, 'strerror', None) or 'is not text'}; correct -f") from None
    except yaml.YAMLError as error:
        raise Fault(f"{file}: is not YAML: {' '.join(str(error).split())}") from None
    if not isinstance(found, dict) or not all(isinstance(key, str) for key in found):
        raise Fault(
            f"{file}: is not a map of a job's settings, such as: {{strategy: {{kind: single}}, script: train.py}}"
        )
    return found


def _with(settings: Mapping[str, Any], given: Given) -> dict[str, Any]:
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
            **_map(found, "resources"),
            **{name: each for name, each in resources.items() if each is not None},
        },
        "volumes": {**_map(found, "volumes"), **dict(map(_volume, given.volumes))},
        "env": {**_map(found, "env"), **dict(map(_variable, given.variables))},
        "onSuccess": {**_map(found, "onSuccess"), **({"publish": given.publish} if given.publish else {})},
        "strategy": _strategy(_map(found, "strategy"), given),
    }.items():
        if value:
            found[key] = value
    return found


def _strategy(stated: Mapping[str, Any], given: Given) -> dict[str, Any] | None:
    if given.workers is None:
        several = not stated and (given.per_worker or 0) > 1
        return {"kind": "mirrored"} if several else dict(stated) or None
    if stated and stated.get("kind") not in ("single", "mirrored", "multiWorkerMirrored"):
        return {**stated, "workers": given.workers}
    if given.workers > 1:
        return {**stated, "kind": "multiWorkerMirrored", "workers": given.workers}
    return {"kind": "mirrored" if (given.per_worker or 0) > 1 else "single"}


def _map(settings: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """A section of the settings; empty if it is missing, or no map, which the check of the settings reports."""
    found = settings.get(key)
    return found if isinstance(found, Mapping) else {}


def _volume(text: str) -> tuple[str, str | None]:
    name, _, path = text.partition(":")
    return name, path or None


def _variable(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise Fault(f"--env: {text!r} has no value; write {text}=VALUE")
    return name, value


def _named(command: Sequence[str]) -> str:
    """The name of the script that a command runs, else that of its program."""
    words = [word for word in command if not word.startswith("-")]
    stem = PurePosixPath(next((word for word in words if word.endswith(".py")), words[0] if words else "job")).stem
    return shorten(re.sub(r"[^a-z0-9]+", "-", stem.lower()).strip("-") or "job", 20)


def _outputs(name: str, settings: dict[str, Any]) -> None:
    """Model and checkpoints on the first volume that pods may write to, unless the settings say where."""
    for volume, mount in (settings.get("volumes") or {}).items():
        if not (isinstance(mount, Mapping) and mount.get("readOnly")):
            settings.setdefault("model", {"volume": volume, "path": name})
            settings.setdefault("checkpoints", {"volume": volume})
            return
