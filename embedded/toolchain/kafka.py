"""A Kafka broker for tests of streams: Java from Debian, the broker's jars through Maven, checked by their hashes."""

from __future__ import annotations

import hashlib
import re
import subprocess
from pathlib import Path

from embedded.fault import Fault
from embedded.progress import Step
from embedded.tasks import command
from embedded.toolchain import debian
from embedded.toolchain.places import made_whole, on_path, tools_folder

_SOURCE = Path(__file__).parent / "maven" / "kafka"
_SUMS = _SOURCE / "SHA256SUMS"
_PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1"
_OLDEST_JAVA = 17
PROGRAMS = {"java": "default-jre-headless", "mvn": "maven"}
"""Program -> Debian's package that ships it. Maven is needed where the jars are not in the cache yet."""


def jars() -> Path:
    """The folder of the broker's jars once they are there: named by what they must be."""
    return tools_folder() / f"kafka-{hashlib.sha256(_SUMS.read_bytes()).hexdigest()[:12]}"


def is_missing() -> bool:
    """Whether this machine cannot run the broker yet."""
    return not (jars().exists() and on_path("java"))


def obtain(step: Step) -> Path:
    """Gets what is missing; the folder of the jars."""
    fetched = jars().exists()
    debian.install(step, {"java": PROGRAMS["java"]} if fetched else PROGRAMS)
    _refuse_old_java()
    with made_whole(jars(), step) as draft:
        if draft:
            _fetch(draft, step)
    return jars()


def _fetch(folder: Path, step: Step) -> None:
    step.note("downloading Kafka")
    # Strict checksums of the downloads; what comes out is held against the committed hashes as well.
    maven = ["mvn", "--batch-mode", "--strict-checksums", "--file", str(_SOURCE / "pom.xml")]
    goal = [f"{_PLUGIN}:copy-dependencies", "-DincludeScope=runtime", f"-DoutputDirectory={folder}"]
    command([*maven, *goal], step=step)
    wrong = differing(folder, _SUMS.read_text())
    if wrong:
        raise Fault(f"kafka: {', '.join(wrong)}: not the files that {_SUMS.name} names; nothing of them was kept")


def differing(folder: Path, sums: str) -> list[str]:
    """Names of the files that lack, differ from, or are not among those that `sums` lists."""
    wanted = {name: digest for digest, name in (line.split() for line in sums.splitlines())}
    found = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}
    return sorted(name for name in wanted.keys() | found.keys() if wanted.get(name) != found.get(name))


def _refuse_old_java() -> None:
    said = subprocess.run(["java", "-version"], capture_output=True, text=True, timeout=60, check=False).stderr
    found = re.search(r'version "(\d+)', said)
    if not found or int(found[1]) < _OLDEST_JAVA:
        raise Fault(f"java: found {found[1] if found else 'none that runs'}, Kafka needs {_OLDEST_JAVA} or newer")
