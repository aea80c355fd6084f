"""Files of pods: where they come from, and the ConfigMaps that hold them, each named by its content."""

import base64
import io
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Annotated

from pydantic import AfterValidator

from tensorplane.components.base.model import Line, refuse_all_but
from tensorplane.components.base.names import digest

FROM_PACKAGE = "package:"
FOLDER = "."
"""Target of a folder whose files are in the working directory itself."""

_PART_LIMIT = 240
"""Length of a path element, which becomes a ConfigMap key of at most 253 characters with a number as prefix."""
_SAFE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.")


def _check_target(value: str) -> str:
    if value == FOLDER:
        return value
    parts = value.split("/")
    if any(part in ("", ".", "..") or not set(part) <= _SAFE for part in parts):
        refuse_all_but("a relative path of letters, digits, dashes, dots and underscores, such as train.py")
    if any(len(part) > _PART_LIMIT for part in parts):
        refuse_all_but(f"a path whose elements have at most {_PART_LIMIT} characters each")
    return value


def _check_source(value: str) -> str:
    path = PurePosixPath(value.removeprefix(FROM_PACKAGE))
    if not value or path.is_absolute() or ".." in path.parts:
        refuse_all_but(
            f"a file of the project (examples/digits/train.py) or of a Python package ({FROM_PACKAGE}NAME/data.csv)"
        )
    return value


def _check_script(value: str) -> str:
    path = PurePosixPath(value)
    if path.is_absolute() or ".." in path.parts or path.suffix != ".py":
        refuse_all_but("a Python file of the project, such as mine/train.py; for other programs set command")
    _check_target(path.name)
    return value


def of_script(script: str) -> dict[str, str]:
    """What a script brings, as `files`: its folder as the working directory, or itself if it is in the project's root.

    The root also has the stack files and all that belongs to other jobs.
    """
    path = PurePosixPath(script)
    folder = str(path.parent)
    return {path.name: script} if folder == FOLDER else {FOLDER: folder}


Target = Annotated[Line, AfterValidator(_check_target)]
"""Path in the pod, relative to the working directory."""
Source = Annotated[Line, AfterValidator(_check_source)]
"""File or folder of the project, or `package:NAME/PATH` for a data file of an installed Python package."""
Script = Annotated[Line, AfterValidator(_check_script)]
"""Python file of the project, or `package:NAME/PATH` for one of an installed Python package."""


_ONE_BYTES = 1024 * 1024
"""Size limit of a ConfigMap."""
_ONE_COUNT = 500
"""Most files of one ConfigMap, because the JobSet lists each of them for each role."""
_PART_BYTES = 1_000_000


@dataclass(frozen=True)
class Bundle:
    """Files by their path in the pod, and a name with a hash of their content."""

    name: str
    content: Mapping[str, bytes]

    @property
    def items(self) -> list[dict[str, str]]:
        """The ConfigMap's keys and their paths, because a key cannot contain a slash."""
        return [{"key": key, "path": path} for path, key in self._keys().items()]

    def _keys(self) -> dict[str, str]:
        return {path: f"{index}.{PurePosixPath(path).name}" for index, path in enumerate(sorted(self.content))}

    def data(self) -> tuple[dict[str, str], dict[str, str]]:
        """The ConfigMap's data, and other than UTF-8 text as base64."""
        text: dict[str, str] = {}
        binary: dict[str, str] = {}
        for path, key in self._keys().items():
            try:
                text[key] = self.content[path].decode()
            except UnicodeDecodeError:
                binary[key] = base64.b64encode(self.content[path]).decode()
        return text, binary


def bundle(name: str, files: Mapping[str, bytes]) -> Bundle:
    """Files by path. The name has a hash of paths and contents: a change is a new object, and a new run."""
    content = dict(sorted(files.items()))
    parts = (f"{target}\0{len(data)}\0".encode() + data for target, data in content.items())
    return Bundle(f"{name}-{digest(b''.join(parts))}", content)


def shared_library(files: Mapping[str, bytes]) -> Bundle:
    """tensorplane's library for all training jobs of a stack in its namespace."""
    return bundle("tensorplane-library", files)


def fits_one(files: Mapping[str, bytes]) -> bool:
    """Whether one ConfigMap can have these files."""
    return len(files) <= _ONE_COUNT and sum(map(len, files.values())) <= _ONE_BYTES


def bundles(name: str, files: Mapping[str, bytes]) -> list[Bundle]:
    """The ConfigMaps of these files: none, one with the files, or several with the parts of an archive of them.

    The archive is not compressed: another version of the compressor would write other bytes, and restart the run.
    """
    if not files:
        return []
    if fits_one(files):
        return [bundle(name, files)]
    archive = _archive(files)
    starts = range(0, len(archive), _PART_BYTES)
    return [
        bundle(f"{name}-{index}", {f"part-{index:03}": archive[start : start + _PART_BYTES]})
        for index, start in enumerate(starts)
    ]


def _archive(files: Mapping[str, bytes]) -> bytes:
    """A tar archive that depends on paths and contents only."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for path, content in sorted(files.items()):
            entry = tarfile.TarInfo(path)
            entry.size, entry.mode = len(content), 0o644
            archive.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()
