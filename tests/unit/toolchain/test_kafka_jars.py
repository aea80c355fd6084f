"""The broker's jars are those whose hashes are committed, every one and no other."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import pytest

from tensorplane.components import versions
from tensorplane.core.paths import PROJECT
from tensorplane.toolchain import kafka


def _sums(**files: str) -> str:
    return "".join(f"{hashlib.sha256(text.encode()).hexdigest()}  {name}.jar\n" for name, text in files.items())


def test_the_same_files_differ_in_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.jar").write_text("a")
    assert kafka.differing(tmp_path, _sums(a="a")) == []


def test_a_changed_a_missing_and_an_added_file_are_named(tmp_path: Path) -> None:
    for name in ("same", "changed", "added"):
        (tmp_path / f"{name}.jar").write_text(name)
    sums = _sums(same="same", changed="before", missing="missing")
    assert kafka.differing(tmp_path, sums) == ["added.jar", "changed.jar", "missing.jar"]


@pytest.mark.parametrize("jars", [kafka.BROKER, kafka.MIRROR_MAKER], ids=lambda jars: jars.name)
def test_the_sums_are_of_the_version_that_is_asked_for(jars: kafka.Jars) -> None:
    text = (jars.source / "pom.xml").read_text()
    pins = re.findall(r"<artifactId>(\S+)</artifactId>\s*<version>(\S+)</version>", text)
    assert len(pins) == 3
    assert all(f"  {name}-{version}.jar\n" in jars.sums for name, version in pins[1:])


def test_both_have_strimzis_version() -> None:
    assert f"kafka_2.13-{versions.KAFKA}.jar" in kafka.BROKER.sums
    assert f"connect-mirror-{versions.KAFKA}.jar" in kafka.MIRROR_MAKER.sums


def test_tests_read_with_the_client_that_containers_have() -> None:
    files = (PROJECT / "images" / "requirements" / "streams.txt", PROJECT / "tests" / "requirements.txt")
    pins = [re.findall(r"^confluent-kafka==\S+", path.read_text(), re.MULTILINE) for path in files]
    assert pins[0] == pins[1] != []
