"""Local files that are mounted into pods: those of the settings, and tensorplane's library."""

import importlib.util
import io
import os
import zipfile
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

from tensorplane.core.paths import PACKAGE, PROJECT
from tensorplane.workloads.pods import pod
from tensorplane.workloads.pods.files import FOLDER, FROM_PACKAGE

MOST_FILES = 5000
"""Maximum number of files of one folder: a larger one holds data or an environment, not code."""


def read(files: Mapping[str, str], project: Path | None = None) -> dict[str, bytes]:
    """The contents of a `files` map, by path in the pod. `project`: the folder that its paths are relative to,
    by default this project."""
    return {target: path.read_bytes() for target, path in expanded(files, project).items()}


def expanded(files: Mapping[str, str], project: Path | None = None) -> dict[str, Path]:
    """Every file of a `files` map: its local path by its path in the pod. Raises OSError if a source is missing."""
    return {path: local for target, source in files.items() for path, local in found(target, source, project)}


def found(target: str, source: str, project: Path | None = None) -> Iterator[tuple[str, Path]]:
    """The files of one entry, by path in the pod: one file, or those of a folder. Raises OSError if there is none."""
    local = located(source, project)
    if not local.is_dir():
        yield target, local
        return
    prefix = "" if target == FOLDER else f"{target}/"
    inside = sorted(_below(local, (project or PROJECT).resolve()))
    if not inside:
        raise FileNotFoundError("the folder has no files; hidden files and caches do not count")
    yield from ((f"{prefix}{path.relative_to(local).as_posix()}", path) for path in inside)


def _below(folder: Path, project: Path) -> Iterator[Path]:
    """The files of a folder, without those that no pod needs. Links to files of the project are followed."""
    count = 0
    for at, folders, names in os.walk(folder, onerror=_refuse):
        folders[:] = sorted(name for name in folders if not _is_junk(name))
        for name in folders:
            if (Path(at) / name).is_symlink():
                raise OSError(f"{name} is a symlink to a folder; name the folder that it points to in `files`")
        for path in (Path(at) / name for name in names if not _is_junk(name)):
            if path.is_symlink() and not path.resolve().is_relative_to(project):
                raise OSError(f"{path.relative_to(folder)} is a symlink to a file outside the project; copy the file")
            if not path.is_file():
                raise OSError(f"{path.relative_to(folder)} is a broken symlink or not a regular file; remove it")
            count += 1
            if count > MOST_FILES:
                raise OSError(f"the folder has more than {MOST_FILES:,} files; name a smaller one")
            yield path


def _refuse(error: OSError) -> None:
    raise error


def _is_junk(name: str) -> bool:
    """Whether pods do not need it. Hidden files, such as .env, may also hold passwords."""
    return name.startswith(".") or name in ("__pycache__", "node_modules") or name.endswith((".pyc", ".egg-info"))


def library() -> dict[str, bytes]:
    """tensorplane's library, which every training pod can import, by path in its folder: one archive."""
    return {pod.ARCHIVE: _library(PACKAGE)}


@cache
def _library(package: Path) -> bytes:
    """Made once: a stack may have hundreds of jobs."""
    modules = [*package.glob("*.py"), *(path for part in _LIBRARY for path in (package / part).glob("*.py"))]
    found = {f"tensorplane/{path.relative_to(package)}": path.read_bytes() for path in modules}
    beside = {path.name: path.read_bytes() for path in (package / "archive_root").glob("*.py")}
    return _zipped({**_MAIN, **beside, **found})


_LIBRARY = ("checkpoints", "data", "datasets", "keras", "parameter_server", "stages")
"""Its subpackages: the others of `tensorplane` never run in training pods."""


_MAIN = {"__main__.py": b"import tensorplane.__main__\n"}
"""The archive as a program."""
_OF_STEPS = (
    *("__main__.py", "errors.py", "lazy_imports.py", "model_versions.py", "unpack.py"),
    *("declared_lineage.py", "machine.py", "pod_history.py", "version.py"),
    *(f"checkpoints/{name}.py" for name in ("__init__", "disk", "run_folder")),
)


def steps() -> dict[str, bytes]:
    """The part of the library that the steps of pipelines run, as an archive: datasets, stages, versions of models, and
    what unpacks large files.
    """
    folder = PACKAGE
    modules = [path for part in ("datasets", "stages") for path in (folder / part).glob("*.py")]
    modules += [folder / path for path in _OF_STEPS]
    found = {f"tensorplane/{path.relative_to(folder)}": path.read_bytes() for path in modules}
    return {pod.ARCHIVE: _zipped({**_MAIN, "tensorplane/__init__.py": b"", **found})}


def _zipped(files: Mapping[str, bytes]) -> bytes:
    """An archive that depends on paths and contents only: it is not compressed, because another version of the
    compressor would write other bytes, and restart the pods."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for path, content in sorted(files.items()):
            archive.writestr(zipfile.ZipInfo(path), content)
    return buffer.getvalue()


def located(source: str, project: Path | None = None) -> Path:
    """Local path of a source. A package is located without importing it, because TensorFlow takes seconds."""
    if not source.startswith(FROM_PACKAGE):
        return (project or PROJECT) / source
    package, _, inside = source.removeprefix(FROM_PACKAGE).partition("/")
    try:
        spec = importlib.util.find_spec(package)
    except (ImportError, ValueError):
        # Not a valid package name.
        spec = None
    if spec is None or not spec.submodule_search_locations:
        raise FileNotFoundError(f"no Python package {package!r} is installed")
    return Path(spec.submodule_search_locations[0]) / inside
