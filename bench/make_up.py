"""How long `make up` takes: cold (building, or with the projects' releases), with everything cached, a second time."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import tarfile
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench import instance
from bench.figure import Figure, Measured
from tensorplane.core.paths import PROJECT
from tensorplane.core.step import Step
from tensorplane.core.tasks import command
from tensorplane.toolchain import releases, tools
from tensorplane.toolchain.releases import Release
from tests.toolchain import stand_in_releases
from tests.toolchain.stand_in_releases import StandInReleases


def _up(project: Path = PROJECT, **environment: str) -> float:
    environment |= {"TENSORPLANE_INSTANCE": instance.BENCH.name}
    began = time.monotonic()
    command(["make", "up", "CONTEXT="], step=Step("make up for bench"), cwd=project, env=environment)
    return time.monotonic() - began


def _cached() -> Measured:
    with instance.fresh():
        return Measured(_up(), "nothing running, no state; tools and images in the cache")


def _second() -> Measured:
    with instance.fresh():
        first = _up()
        return Measured(_up(), f"the first took {first:.0f} s")


@dataclass(frozen=True)
class _Machine:
    """What a machine that has never seen the project has: a clean clone."""

    scratch: Path

    @property
    def project(self) -> Path:
        return self.scratch / "tensorplane"

    def up(self, **environment: str) -> float:
        """The seconds of `make up`, with every cache empty."""
        caches = {
            "XDG_CACHE_HOME": str(self.scratch / "cache"),
            "GOCACHE": str(self.scratch / "go-build"),
            "GOMODCACHE": str(self.scratch / "go-mod"),
            "PIP_CACHE_DIR": str(self.scratch / "pip"),
        }
        return _up(self.project, **caches, **environment)


@contextmanager
def _new_machine() -> Iterator[_Machine]:
    machine = _Machine(Path(tempfile.mkdtemp(prefix="tensorplane-cold-", dir=Path.home())))
    try:
        with instance.fresh():
            subprocess.run(["git", "clone", "--quiet", PROJECT, machine.project], check=True)
            yield machine
    finally:
        subprocess.run(["chmod", "-R", "u+w", machine.scratch], check=False)
        shutil.rmtree(machine.scratch)


def _cold() -> Measured:
    with _new_machine() as machine:
        seconds = machine.up(**{releases.SWITCH: "build"})
        return Measured(seconds / 60, "a clean clone, every cache empty, every program built")


def _cold_with_releases() -> Measured:
    """A server on this machine has the releases, made of what was built here: they cost next to nothing to download."""
    with _new_machine() as machine, stand_in_releases.serving() as server:
        pins = machine.project / releases.PINS.relative_to(PROJECT)
        pins.write_text(_published(pins.read_text(), server, machine.scratch))
        seconds = machine.up(**{releases.SWITCH: "download"})
    downloads = f"{len(server.requests)} releases from this machine; packages and modules from their registries"
    return Measured(seconds / 60, f"a clean clone, every cache empty, {downloads}")


def _published(pins: str, server: StandInReleases, folder: Path) -> str:
    """The text of `releases.toml`, with the server's URLs and the hashes of its files."""
    for release in releases.pinned():
        file = _file_of(release, folder)
        with file.open("rb") as content:
            digest = hashlib.file_digest(content, "sha256").hexdigest()
        url = server.url(_file_name(release), file)
        pins = pins.replace(release.url, url).replace(release.hash, f"sha256:{digest}")
    return pins


def _file_of(release: Release, folder: Path) -> Path:
    """A release's file with the programs that were built here; as the real one, an archive or the program itself."""
    programs = [tools().path(program) for program in release.programs if "*" not in program]
    path = folder / _file_name(release)
    if not path.name.endswith((".tar.gz", ".tgz")):
        return programs[0].resolve()
    with tarfile.open(path, "w:gz") as archive:
        for program in programs:
            archive.add(program.resolve(), arcname=program.name)
    return path


def _file_name(release: Release) -> str:
    return release.url.rpartition("/")[2]


FIGURES = (
    Figure("cold-up", "<= 30", "min", _cold, by_name=True),
    Figure("cold-up-releases", "<= 4", "min", _cold_with_releases, by_name=True),
    Figure("cached-up", "<= 90", "s", _cached),
    Figure("second-up", "<= 15", "s", _second),
)
