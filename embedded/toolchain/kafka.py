"""Kafka, as its published jars: Java from Debian, the jars through Maven, checked by their hashes."""

from __future__ import annotations

import hashlib
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from embedded.fault import Fault
from embedded.step import Step
from embedded.tasks import command
from embedded.toolchain import debian
from embedded.toolchain.places import made_whole, on_path, tools_folder

_MAVEN = Path(__file__).parent / "maven"
_PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1"
_OLDEST_JAVA = 17
PROGRAMS = {"java": "default-jre-headless", "mvn": "maven"}
"""Program -> Debian's package that ships it. Maven is needed where the jars are not in the cache yet."""


@dataclass(frozen=True)
class Jars:
    """One list of artefacts with all that they depend on."""

    name: str

    @property
    def source(self) -> Path:
        """Where the list is, and the hashes that the files must have."""
        return _MAVEN / self.name

    @property
    def sums(self) -> str:
        """The hashes, a line for each file."""
        return (self.source / "SHA256SUMS").read_text()

    @property
    def folder(self) -> Path:
        """Where the files are once they are there: named by what they must be."""
        return tools_folder() / f"{self.name}-{hashlib.sha256(self.sums.encode()).hexdigest()[:12]}"


BROKER = Jars("kafka")
MIRROR_MAKER = Jars("kafka-mirror-maker")


def is_missing() -> bool:
    """Whether this machine cannot run both of them yet."""
    return not (BROKER.folder.exists() and MIRROR_MAKER.folder.exists() and on_path("java"))


def obtain(step: Step, jars: Jars = BROKER) -> Path:
    """Gets what is missing; the folder of the jars."""
    fetched = jars.folder.exists()
    debian.install(step, {"java": PROGRAMS["java"]} if fetched else PROGRAMS)
    _refuse_old_java()
    with made_whole(jars.folder, step) as draft:
        if draft:
            _fetch(jars, draft, step)
    return jars.folder


def _fetch(jars: Jars, folder: Path, step: Step) -> None:
    step.note(f"downloading {jars.name}")
    # Strict checksums of the downloads; what comes out is held against the committed hashes as well.
    maven = ["mvn", "--batch-mode", "--strict-checksums", "--file", str(jars.source / "pom.xml")]
    goal = [f"{_PLUGIN}:copy-dependencies", "-DincludeScope=runtime", f"-DoutputDirectory={folder}"]
    command([*maven, *goal], step=step)
    wrong = differing(folder, jars.sums)
    if wrong:
        raise Fault(
            f"{jars.name}: {', '.join(wrong)}: checksums differ from SHA256SUMS; check the mirror, then run again"
        )


def differing(folder: Path, sums: str) -> list[str]:
    """Names of the files that lack, differ from, or are not among those that `sums` lists."""
    wanted = {name: digest for digest, name in (line.split() for line in sums.splitlines())}
    found = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}
    return sorted(name for name in wanted.keys() | found.keys() if wanted.get(name) != found.get(name))


def _refuse_old_java() -> None:
    said = subprocess.run(["java", "-version"], capture_output=True, text=True, timeout=60, check=False).stderr
    found = re.search(r'version "(\d+)', said)
    if not found or int(found[1]) < _OLDEST_JAVA:
        raise Fault(
            f"java: found {found[1] if found else 'none that runs'}; install Java {_OLDEST_JAVA} or newer for Kafka"
        )
