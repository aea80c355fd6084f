"""Code and small data for pods: files in a ConfigMap that is named by its content."""

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from components.base.names import digest


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
