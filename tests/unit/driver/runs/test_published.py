"""A finished run tells what it has published: the library writes it, the driver reads it from the pod's status."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tensorplane import termination_message as writing
from tensorplane.driver.runs import published
from tests.support.failed_jobs import exited, pod_of

LINEAGE: dict[str, Any] = {
    "job": "digits",
    "run": "digits-1",
    "image": "team/train:1",
    "code": "code-1a2b3c4d",
    "data": {"volumes": {"models": "/models"}, "dataset": "9f8e"},
    "versions": {"tensorflow": "2.21.0"},
    "steps": 1200,
    "metrics": {"loss": 0.123456, "accuracy": 0.96},
}


def message(folder: Path, run: str | None = "digits-1", **facts: Any) -> str:
    """What the library leaves of a version with this lineage."""
    file = folder / "digits" / "3" / "assets.extra" / "lineage.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({**LINEAGE, **facts}))
    target = folder / "termination-log"
    target.touch()
    writing.write(folder / "digits", run, target)
    return target.read_text()


def test_the_driver_reads_what_the_library_leaves(tmp_path: Path) -> None:
    other = pod_of("worker-0-1", phase="Succeeded", **exited(0))
    found = published.find([other, pod_of(phase="Succeeded", **exited(0, message(tmp_path)))])
    assert found
    assert list(found.lines) == [
        "It has published digits/3 after 1,200 steps: loss 0.1235, accuracy 0.96",
        "code: code-1a2b3c4d",
        "image: team/train:1",
        "volumes: models",
        "dataset: 9f8e",
    ]


def test_only_versions_of_the_run_are_left(tmp_path: Path) -> None:
    assert message(tmp_path, run="digits-2") == ""
    assert message(tmp_path, run=None) == ""
    writing.write(tmp_path / "nothing", "digits-1", tmp_path / "termination-log")
    assert (tmp_path / "termination-log").read_text() == ""


def test_it_fits_into_what_kubernetes_keeps(tmp_path: Path) -> None:
    said = message(tmp_path, metrics={f"metric-{number}": number / 7 for number in range(400)})
    assert len(said.encode()) < 4096
    found = published.find([pod_of(**exited(0, said))])
    assert found and (found.version, found.code) == ("digits/3", "code-1a2b3c4d")


@pytest.mark.parametrize("said", ["", "step 3", '{"published": {}}', '{"published": ', '{"published": 3}'])
def test_other_messages_tell_nothing(said: str) -> None:
    assert published.find([pod_of(**exited(0, said))]) is None


def test_a_failed_pod_has_published_nothing(tmp_path: Path) -> None:
    assert published.find([pod_of(**exited(1, message(tmp_path)))]) is None
