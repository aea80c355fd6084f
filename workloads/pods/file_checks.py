"""Checks of `script` and `files`: missing sources, conflicting targets, the size limit."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from components.base.problems import Key, Problem, did_you_mean
from workloads.pods import sources
from workloads.pods.file_settings import of_script

LIMIT_BYTES = 16 * 1024 * 1024
"""Limit of all files of a job. They are in ConfigMaps of 1 MiB each, and so in etcd and in Pulumi's state."""


@dataclass(frozen=True)
class _Entry:
    """One source of a job's files."""

    key: Key
    """The setting that names it, relative to the job."""
    target: str
    """Its path in the pod."""
    source: str
    named: str
    """The file or folder that the setting names: the source, or the script in it."""

    def found(self, project: Path | None) -> dict[str, Path]:
        """Its files by path in the pod. Raises OSError with the reason if there are none."""
        local = sources.located(self.named, project)
        if not local.exists():
            raise FileNotFoundError(f"no such file; correct the path, which is relative to the project{_near(local)}")
        return dict(sources.found(self.target, self.source, project))


def find_problems(script: str | None, files: Mapping[str, str], at: Key, project: Path | None) -> Iterator[Problem]:
    """Problems of a job's files: missing sources, one path twice, paths inside files, total size. `at`: its path.

    `project`: the folder that the sources are relative to; None: this project.
    """
    local: dict[str, Path] = {}
    origin: dict[str, Key] = {}
    for entry in _entries(script, files):
        key = (*at, *entry.key)
        try:
            found = entry.found(project)
        except OSError as error:
            yield Problem(key, f"{entry.named}: {error.strerror or error}")
            continue
        if twice := sorted(path for path in found if path in local and local[path] != found[path]):
            other = origin[twice[0]]
            reason = f"{twice[0]} is also in {'.'.join(other[len(at) :])}; rename or remove one of them"
            yield Problem(key, reason, given=(other,))
        local |= found
        origin |= dict.fromkeys(found, key)
    yield from _inside_files(origin)
    yield from _too_large(local, at)


def paths(script: str | None, files: Mapping[str, str], project: Path | None) -> list[str]:
    """Paths of all files in the pod; of a missing source, its own."""
    found: list[str] = []
    for entry in _entries(script, files):
        try:
            found += entry.found(project)
        except OSError:
            found.append(entry.target)
    return found


def _entries(script: str | None, files: Mapping[str, str]) -> Iterator[_Entry]:
    if script:
        yield from (_Entry(("script",), target, source, script) for target, source in of_script(script).items())
    yield from (_Entry(("files", target), target, source, source) for target, source in files.items())


def _inside_files(origin: Mapping[str, Key]) -> Iterator[Problem]:
    for path, key in origin.items():
        around = next((str(parent) for parent in Path(path).parents if str(parent) in origin), None)
        if around:
            yield Problem(key, f"{around!r} is a file, so nothing can be inside it; use another path")


def _too_large(local: Mapping[str, Path], at: Key) -> Iterator[Problem]:
    sizes = {path: found.stat().st_size for path, found in local.items()}
    total = sum(sizes.values())
    if total > LIMIT_BYTES:
        largest = max(sizes, key=sizes.__getitem__)
        limit = f"more than the {LIMIT_BYTES:,} that go into ConfigMaps (largest: {largest})"
        reason = f"the files have {total:,} bytes, {limit}; put data on a volume or into the image"
        yield Problem((*at, "files"), reason, given=((*at, "script"),))


def _near(path: Path) -> str:
    siblings: Iterable[Path] = path.parent.iterdir() if path.parent.is_dir() else ()
    return did_you_mean(path.name, [child.name for child in siblings])
