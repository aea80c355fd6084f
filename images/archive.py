"""Reads archives of images of any origin: OCI layouts, and what `docker save` writes."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path
from typing import Any

from tensorplane.core.errors import UserError

_NAME = "io.containerd.image.name"
_DOCKER_HUB = "docker.io"


def names(archive: Path) -> list[str]:
    """The full names of its images; empty if it names none. A UserError if it is no archive of images."""
    try:
        with tarfile.open(archive) as opened:
            index, saved = _json(opened, "index.json"), _json(opened, "manifest.json")
    except OSError as error:
        raise UserError(f"{archive}: {error.strerror or error}; name an archive of images") from None
    except (tarfile.TarError, EOFError, ValueError):
        raise UserError(f"{archive}: is not an archive of images; create one with `docker save`, for example") from None
    if index is None and saved is None:
        raise UserError(
            f"{archive}: has neither index.json nor manifest.json; create it with `docker save`, for example"
        )
    if index is not None:
        return [full(annotated) for item in index["manifests"] if (annotated := item.get("annotations", {}).get(_NAME))]
    return [full(tag) for item in saved or () for tag in item.get("RepoTags") or ()]


def full(name: str) -> str:
    """The name as containerd and the kubelet complete it: `python` is `docker.io/library/python:latest`."""
    first, slash, rest = name.partition("/")
    if not slash:
        name = f"{_DOCKER_HUB}/library/{name}"
    elif not any(character in first for character in ".:") and first != "localhost":
        name = f"{_DOCKER_HUB}/{name}"
    elif first == _DOCKER_HUB and "/" not in rest:
        name = f"{_DOCKER_HUB}/library/{rest}"
    return name if "@" in name or ":" in name.rpartition("/")[2] else f"{name}:latest"


def _json(opened: tarfile.TarFile, name: str) -> Any:
    """A file at the archive's root; None if there is none."""
    try:
        content = opened.extractfile(name)
    except KeyError:
        return None
    return json.load(content) if content else None
