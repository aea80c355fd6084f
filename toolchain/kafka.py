"""Kafka, as its published jars: Java from Debian, the jars through Maven, checked by their hashes."""

from __future__ import annotations

import hashlib
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tensorplane.core.errors import UserError
from tensorplane.core.step import Step
from tensorplane.core.tasks import command
from tensorplane.toolchain import debian
from tensorplane.toolchain.tool_folders import made_whole, on_path, tools_folder

_MAVEN = Path(__file__).parent / "maven"
_PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1"
_OLDEST_JAVA = 17
PROGRAMS = {"java": "default-jre-headless", "mvn": "maven"}
"""Program -> Debian's package. Maven is only needed while the jars are not in the cache."""


@dataclass(frozen=True)
class Jars:
    """A list of artefacts with their dependencies."""

    name: str

    @property
    def source(self) -> Path:
        """The path of the list and of the files' hashes."""
        return _MAVEN / self.name

    @property
    def sums(self) -> str:
        """The hashes, a line for each file."""
        return (self.source / "SHA256SUMS").read_text()

    @property
    def folder(self) -> Path:
        """The folder of the files, named by their hashes."""
        return tools_folder() / f"{self.name}-{hashlib.sha256(self.sums.encode()).hexdigest()[:12]}"


BROKER = Jars("kafka")
MIRROR_MAKER = Jars("kafka-mirror-maker")


def is_missing() -> bool:
    """Whether this machine cannot run one of them yet."""
    return not (BROKER.folder.exists() and MIRROR_MAKER.folder.exists() and on_path("java"))


def obtain(step: Step, jars: Jars = BROKER) -> Path:
    """Gets what is missing; returns the folder of the jars."""
    fetched = jars.folder.exists()
    debian.install(step, {"java": PROGRAMS["java"]} if fetched else PROGRAMS)
    _refuse_old_java()
    with made_whole(jars.folder, step) as draft:
        if draft:
            _fetch(jars, draft, step)
    return jars.folder


def _fetch(jars: Jars, folder: Path, step: Step) -> None:
    step.note(f"downloading {jars.name}")
    # Strict checksums of the downloads; the result is also compared with the committed hashes.
    maven = ["mvn", "--batch-mode", "--strict-checksums", "--file", str(jars.source / "pom.xml")]
    goal = [f"{_PLUGIN}:copy-dependencies", "-DincludeScope=runtime", f"-DoutputDirectory={folder}"]
    command([*maven, *goal], step=step)
    changed = differing(folder, jars.sums)
    if changed:
        raise UserError(
            f"{jars.name}: {', '.join(changed)}: checksums differ from SHA256SUMS; check the mirror, then run again"
        )


def differing(folder: Path, sums: str) -> list[str]:
    """Names of files that are missing, differ from `sums`, or are not listed in it."""
    wanted = {name: digest for digest, name in (line.split() for line in sums.splitlines())}
    found = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}
    return sorted(name for name in wanted.keys() | found.keys() if wanted.get(name) != found.get(name))


def _refuse_old_java() -> None:
    output = subprocess.run(["java", "-version"], capture_output=True, text=True, timeout=60, check=False).stderr
    found = re.search(r'version "(\d+)', output)
    if not found or int(found[1]) < _OLDEST_JAVA:
        raise UserError(
            f"java: found {found[1] if found else 'none that runs'}; install Java {_OLDEST_JAVA} or newer for Kafka"
        )
