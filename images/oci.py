"""OCI images as single files: an archive of layers and a configuration for `ctr images import`."""

from __future__ import annotations

import hashlib
import io
import json
import os
import platform
import re
import tarfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tensorplane.core.errors import UserError
from tensorplane.core.paths import cache
from tensorplane.core.scratch import scratch
from tensorplane.core.step import Step
from tensorplane.images.layer import Layer, Recipe, keep_only

_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
_CONFIG = "application/vnd.oci.image.config.v1+json"
_LAYER = "application/vnd.oci.image.layer.v1.tar+zstd"
NONROOT = 65532


@dataclass(frozen=True)
class Image:
    """An image: its name, its layers, and the program that it starts."""

    name: str
    recipes: tuple[Recipe, ...]
    entrypoint: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    extends: int = 0
    """How many of its first layers its archive omits, because an image that is imported before it has them."""

    def extended(self, name: str, *recipes: Recipe) -> Image:
        """This image with further layers, for a cluster that has this one."""
        return replace(self, name=name, recipes=(*self.recipes, *recipes), extends=len(self.recipes))

    def with_name(self, name: str) -> Image:
        """This image under another name."""
        return replace(self, name=name)

    @property
    def archive(self) -> Path:
        """The path of the archive, finished or not."""
        return cache() / "images" / f"{self._slug}-{self._key}.tar"

    @property
    def _slug(self) -> str:
        return re.sub(r"[^A-Za-z0-9.]+", "-", self.name)

    @property
    def _key(self) -> str:
        parts = [*(recipe.key for recipe in self.recipes), json.dumps(self.config([]), sort_keys=True)]
        parts += [str(self.extends)] if self.extends else []
        parts.append(Path(__file__).read_text())
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]

    def build(self, step: Step) -> Path:
        """Builds the archive and missing layers, unless it is in the cache."""
        if self.archive.exists():
            return self.archive
        layers = [recipe.layer(step) for recipe in self.recipes]
        step.note("writing the archive")
        self.archive.parent.mkdir(parents=True, exist_ok=True)
        with scratch(self._slug) as work:
            write(work / "image.tar", self.name, self.config(layers), layers, omitted=self.extends)
            keep_only((work / "image.tar").replace(self.archive), f"{self._slug}-????????????????.tar")
        return self.archive

    def config(self, layers: Sequence[Layer]) -> dict[str, Any]:
        """The image's configuration, with these layers."""
        return {
            "architecture": architecture(),
            "os": "linux",
            "config": {
                "User": f"{NONROOT}:{NONROOT}",
                "Env": [f"{name}={value}" for name, value in {"PATH": "/usr/bin:/bin", **self.env}.items()],
                "Entrypoint": list(self.entrypoint),
                "WorkingDir": "/",
                "Labels": dict(self.labels),
            },
            "rootfs": {"type": "layers", "diff_ids": [f"sha256:{layer.diff_id}" for layer in layers]},
        }


def architecture() -> str:
    """This machine's architecture, as images and Debian name it."""
    machine = platform.machine()
    if machine not in _ARCHITECTURES:
        raise UserError(f"images: cannot be built on {machine}; use a machine with {' or '.join(_ARCHITECTURES)}")
    return _ARCHITECTURES[machine]


def manifest_digest(archive: Path) -> str:
    """The digest of an archive's only image, as registries and containerd's image list show it."""
    with tarfile.open(archive) as opened:
        index = opened.extractfile("index.json")
        if index is None:
            raise ValueError(f"{archive} is not an OCI archive")
        digest: str = json.load(index)["manifests"][0]["digest"]
        return digest


def documents(config: dict[str, Any], layers: Sequence[Layer]) -> tuple[bytes, bytes]:
    """The manifest and the configuration of an image, as they are stored."""
    config_json = json.dumps(config, sort_keys=True).encode()
    manifest = {
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "config": _descriptor(_CONFIG, config_json),
        "layers": [{"mediaType": _LAYER, "digest": f"sha256:{layer.digest}", "size": layer.size} for layer in layers],
    }
    return json.dumps(manifest).encode(), config_json


def write(target: Path, name: str, config: dict[str, Any], layers: Sequence[Layer], *, omitted: int = 0) -> None:
    """Writes an image as one file, without the content of the first `omitted` layers."""
    manifest_json, config_json = documents(config, layers)
    of_image = {"io.containerd.image.name": name, "org.opencontainers.image.ref.name": name.rpartition(":")[2]}
    index_json = json.dumps(
        {"schemaVersion": 2, "manifests": [_descriptor(MANIFEST, manifest_json) | {"annotations": of_image}]}
    ).encode()
    with target.open("wb") as file, tarfile.open(fileobj=file, mode="w") as archive:
        _add(archive, "oci-layout", b'{"imageLayoutVersion": "1.0.0"}')
        _add(archive, "index.json", index_json)
        for blob in (manifest_json, config_json):
            _add(archive, f"blobs/sha256/{hashlib.sha256(blob).hexdigest()}", blob)
        for layer in layers[omitted:]:
            entry = tarfile.TarInfo(f"blobs/sha256/{layer.digest}")
            entry.size = layer.size
            with layer.path.open("rb") as data:
                archive.addfile(entry, data)
        file.flush()
        os.fsync(file.fileno())


def _add(archive: tarfile.TarFile, name: str, data: bytes) -> None:
    entry = tarfile.TarInfo(name)
    entry.size = len(data)
    archive.addfile(entry, io.BytesIO(data))


def _descriptor(media_type: str, data: bytes) -> dict[str, Any]:
    return {"mediaType": media_type, "digest": f"sha256:{hashlib.sha256(data).hexdigest()}", "size": len(data)}
