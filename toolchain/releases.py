"""The projects' own programs, downloaded by the URLs and hashes of `releases.toml` where this machine reaches them."""

from __future__ import annotations

import gzip
import os
import platform
import shutil
import tarfile
import tomllib
import zlib
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import cache as memoize
from pathlib import Path
from typing import Any

from tensorplane.core import whole_file
from tensorplane.core.errors import UserError
from tensorplane.core.paths import cache
from tensorplane.core.step import Step
from tensorplane.toolchain import download
from tensorplane.toolchain.go_module import GoModule

PINS = Path(__file__).with_name("releases.toml")
SWITCH = "TENSORPLANE_TOOLS"
"""`build` downloads no release; `download` builds nothing in place of one that cannot be had; without, what cannot be
had is built."""
_ARCHIVES = (".tar.gz", ".tgz")
_BROKEN_ARCHIVE = (tarfile.TarError, gzip.BadGzipFile, zlib.error, EOFError)


@dataclass(frozen=True)
class Release:
    """A file that a project publishes, for one architecture."""

    name: str
    module: str
    """The Go module from which the same programs are built."""
    version: str
    """The module's version, as in go.mod."""
    source: str
    """Where the hash was copied from."""
    programs: tuple[str, ...]
    """Names of its programs, or patterns of names: an archive may have what is only used if it is there."""
    url: str
    hash: str
    """Algorithm and hexadecimal digits: `sha256:…`."""

    def has(self, program: str) -> bool:
        """Whether the file is or holds this program."""
        return any(fnmatch(program, pattern) for pattern in self.programs)


def pinned(machine: str = platform.machine()) -> list[Release]:
    """All releases for an architecture, as the kernel calls it: `x86_64` or `aarch64`; none for others."""
    return [
        Release(
            name,
            entry["module"],
            entry["version"],
            entry["source"],
            tuple(entry.get("programs", [name])),
            entry[machine]["url"],
            entry[machine]["hash"],
        )
        for name, entry in _entries(PINS).items()
        if machine in entry
    ]


@memoize
def _entries(path: Path) -> dict[str, dict[str, Any]]:
    return tomllib.loads(path.read_text())


def of(module: GoModule) -> list[Release]:
    """The releases that have a program of this module; none where the switch forbids to download them."""
    if _switch() == "build":
        return []
    return [release for release in pinned() if any(release.has(program) for program in module.programs)]


def install(module: GoModule, folder: Path, step: Step) -> set[str]:
    """Downloads what of the module's programs has a release into the folder, and returns the names that are there.

    What cannot be had is said in a line for each file, for the caller builds it; with `TENSORPLANE_TOOLS=download` it
    is a UserError. A download that is killed continues in the next run.
    """
    wanted = of(module)
    if wanted:
        step.note("asking the hosts of its releases")
    silent = download.silent_hosts(release.url for release in wanted)
    problems = [f"{', '.join(sorted(silent))} cannot be reached"] if silent else []
    builds = _switch() != "download"
    for release in wanted:
        if download.host_of(release.url) in silent:
            continue
        part = cache() / "downloads" / f"{module.name}-{release.url.rpartition('/')[2]}"
        step.note(f"downloading {release.name}, in MB")
        try:
            download.fetch(release.url, release.hash, part, step)
            _unpack(release, part, folder)
        except download.Failed as failure:
            problems.append(f"{release.url} {failure}")
            if builds:
                part.unlink(missing_ok=True)
        step.advance(0, 0)
    if problems and not builds:
        raise UserError(*(f"{module.name}: {each}; unset {SWITCH} to build from the Go module" for each in problems))
    for problem in problems:
        step.print(f"{problem}; building from the Go module")
    return {path.name for path in folder.iterdir()}


def _switch() -> str:
    given = os.environ.get(SWITCH, "")
    if given not in ("", "build", "download"):
        raise UserError(f"{SWITCH}: is {given!r}; set build or download, or unset it")
    return given


def _unpack(release: Release, part: Path, folder: Path) -> None:
    if release.url.endswith(_ARCHIVES):
        try:
            _extract(release, part, folder)
        except _BROKEN_ARCHIVE as error:
            raise download.Failed(f"cannot be unpacked ({error})") from error
        part.unlink()
    else:
        part.chmod(0o755)
        part.replace(folder / release.name)
    absent = [each for each in release.programs if "*" not in each and not (folder / each).exists()]
    if absent:
        raise download.Failed(f"has no {', '.join(absent)}")


def _extract(release: Release, part: Path, folder: Path) -> None:
    with tarfile.open(part) as archive:
        for member in archive:
            # By their names alone: projects change the folders in their archives, and no path leads elsewhere.
            name = Path(member.name).name
            if not (release.has(name) and member.isfile() and (content := archive.extractfile(member))):
                continue
            with whole_file.replaced(folder / name, mode=0o755) as file:
                shutil.copyfileobj(content, file, 1 << 20)
