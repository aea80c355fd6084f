"""Local files that are mounted into pods: those of the settings, and tensorplane's library."""

import importlib.util
from collections.abc import Mapping
from pathlib import Path

from workloads.settings.files import PACKAGE

PROJECT = Path(__file__).resolve().parents[1]


def read(files: Mapping[str, str]) -> dict[str, bytes]:
    """The contents of a `files` map, by path in the pod."""
    return {target: located(source).read_bytes() for target, source in files.items()}


def library() -> dict[str, bytes]:
    """tensorplane's library, which every training pod can import, by path in the folder on PYTHONPATH."""
    folder = PROJECT / "runtime"
    modules = [*folder.glob("*.py"), *(folder / "tensorplane").rglob("*.py")]
    return {str(path.relative_to(folder)): path.read_bytes() for path in modules}


def located(source: str) -> Path:
    """Local path of a source. A package is located without importing it, because TensorFlow takes seconds."""
    if not source.startswith(PACKAGE):
        return PROJECT / source
    package, _, inside = source.removeprefix(PACKAGE).partition("/")
    try:
        spec = importlib.util.find_spec(package)
    except (ImportError, ValueError):
        # Not a valid package name.
        spec = None
    if spec is None or not spec.submodule_search_locations:
        raise FileNotFoundError(f"no Python package {package!r} is installed")
    return Path(spec.submodule_search_locations[0]) / inside
