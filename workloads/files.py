"""Code and small data for pods: files of the project in a ConfigMap that is named by its content."""

import base64
import hashlib
import importlib.util
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Annotated

from pydantic import AfterValidator

from components.faults import Fault, Key, did_you_mean
from components.model import Line, refuse

PROJECT = Path(__file__).resolve().parent.parent
LIMIT_BYTES = 1024 * 1024
"""What Kubernetes lets one ConfigMap hold."""
PACKAGE = "package:"

_SAFE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.")


def _target(value: str) -> str:
    parts = value.split("/")
    if any(part in ("", ".", "..") or not set(part) <= _SAFE for part in parts):
        refuse("a relative path of letters, digits, dashes, dots and underscores, such as train.py")
    return value


def _source(value: str) -> str:
    path = PurePosixPath(value.removeprefix(PACKAGE))
    if not value or path.is_absolute() or ".." in path.parts:
        refuse(f"a file of the project (examples/digits/train.py) or of a Python package ({PACKAGE}NAME/data.csv)")
    return value


Target = Annotated[Line, AfterValidator(_target)]
"""Path in the pod, below the working directory."""
Source = Annotated[Line, AfterValidator(_source)]
"""File of the project, or `package:NAME/PATH`: a data file inside an installed Python package."""


@dataclass(frozen=True)
class Bundle:
    """Files by their path in the pod, and a name that changes with any of them."""

    name: str
    content: Mapping[str, bytes]

    @property
    def items(self) -> list[dict[str, str]]:
        """The ConfigMap's keys and the paths that they become: a key may not hold a slash."""
        return [{"key": key, "path": path} for path, key in self._keys().items()]

    def _keys(self) -> dict[str, str]:
        return {path: f"{index}.{PurePosixPath(path).name}" for index, path in enumerate(sorted(self.content))}

    def data(self) -> tuple[dict[str, str], dict[str, str]]:
        """The ConfigMap's texts, and, in base64, what is not UTF-8 text."""
        text: dict[str, str] = {}
        binary: dict[str, str] = {}
        for path, key in self._keys().items():
            try:
                text[key] = self.content[path].decode()
            except UnicodeDecodeError:
                binary[key] = base64.b64encode(self.content[path]).decode()
        return text, binary


def bundle(name: str, files: Mapping[str, Path]) -> Bundle:
    """Read the files. The name carries a hash of paths and contents: a change is a new object, and a new run."""
    content = {target: path.read_bytes() for target, path in sorted(files.items())}
    digest = hashlib.sha256()
    for target, data in content.items():
        digest.update(f"{target}\0{len(data)}\0".encode())
        digest.update(data)
    return Bundle(f"{name}-{digest.hexdigest()[:8]}", content)


def runtime_library(owner: str) -> Bundle:
    """tensorplane's `runtime` package, which every training pod can import."""
    package = PROJECT / "runtime"
    return bundle(f"{owner}-runtime", {str(path.relative_to(package)): path for path in package.rglob("*.py")})


def located(source: str) -> Path:
    """Where a source is on this machine. A package is found without importing it: TensorFlow takes seconds."""
    if not source.startswith(PACKAGE):
        return PROJECT / source
    package, _, inside = source.removeprefix(PACKAGE).partition("/")
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise FileNotFoundError(f"no Python package {package!r} is installed")
    return Path(spec.submodule_search_locations[0]) / inside


def check(files: Mapping[str, str], at: Key) -> Iterator[Fault]:
    """What is wrong with a `files` map: sources that are not there, targets inside each other, too much in all."""
    sizes: dict[str, int] = {}
    for target, source in files.items():
        try:
            path = located(source)
        except FileNotFoundError as error:
            yield Fault((*at, target), f"{source}: {error}")
            continue
        if path.is_file():
            sizes[target] = path.stat().st_size
        else:
            problem = "a folder, name a file in it" if path.is_dir() else f"no such file{_near(path)}"
            yield Fault((*at, target), f"{source}: {problem}")
        for other in files:
            if target.startswith(f"{other}/"):
                yield Fault((*at, target), f"{other!r} is a file here, so nothing can be inside it")
    if sum(sizes.values()) > LIMIT_BYTES:
        largest = max(sizes, key=sizes.__getitem__)
        yield Fault(
            at,
            f"{sum(sizes.values())} bytes in all, at most {LIMIT_BYTES} fit (the largest: {largest}). "
            "Put data on a volume or into the image",
        )


def _near(path: Path) -> str:
    siblings = [child.name for child in path.parent.iterdir() if child.is_file()] if path.parent.is_dir() else []
    return did_you_mean(path.name, siblings)
