"""Versions that a job reads, and reads again when it makes its model again."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from tensorplane.datasets import Dataset, Refused, __main__, reads
from tests.runtime.test_dataset import put


class _Job:
    def __init__(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._volume, self._patch = tmp_path, monkeypatch

    def begins(self, **more: Any) -> None:
        """A training job whose process has read nothing yet."""
        job = {"job": "digits", "data": {"volumes": {"data": str(self._volume)}}, **more}
        self._patch.setenv("TENSORPLANE_LINEAGE", json.dumps(job))
        self._patch.setattr(reads, "_noted", [])
        self._patch.setattr(reads, "_resolved", {})

    def again(self) -> None:
        """One that makes the model of the former again."""
        self.begins(reproduces={"model": "data:/digits", "version": "1", "inputs": reads.noted()})


@pytest.fixture
def job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> _Job:
    return _Job(tmp_path, monkeypatch)


def _read(dataset: Dataset, reference: str) -> str:
    return (dataset.open(reference) / "a").read_text()


def test_each_reference_of_one_version_is_pinned(dataset: Dataset, job: _Job) -> None:
    put(dataset, a="1")
    dataset.label("good")
    job.begins()
    assert [_read(dataset, each) for each in ("good", "main")] == ["1", "1"]
    put(dataset, a="2")
    dataset.label("good", move=True)
    job.again()
    assert [_read(dataset, each) for each in ("good", "main")] == ["1", "1"]


def test_a_reference_that_named_two_versions_is_refused(dataset: Dataset, job: _Job) -> None:
    first = put(dataset, a="1")
    job.begins()
    assert _read(dataset, "main") == "1"
    second = put(dataset, a="2")
    assert _read(dataset, "main") == "2"
    job.again()
    versions = ", ".join(sorted(dataset.resolve(each).version[:12] for each in (first, second)))
    expected = rf"^dataset@main: was read as 2 versions \({versions}\); let the program name one$"
    with pytest.raises(Refused, match=expected):
        dataset.open("main")
    assert (_read(dataset, first), _read(dataset, second)) == ("1", "2")


def test_a_version_that_is_opened_by_the_commit_that_a_reference_named_is_pinned(dataset: Dataset, job: _Job) -> None:
    put(dataset, a="1")
    job.begins()
    assert _read(dataset, dataset.resolve("main").id) == "1"
    put(dataset, a="2")
    job.again()
    assert _read(dataset, dataset.resolve("main").id) == "1"


@pytest.mark.parametrize("verb", ["open", "files"])
def test_programs_in_other_languages_read_the_same_versions_again(dataset: Dataset, job: _Job, verb: str) -> None:
    def version() -> str:
        answer = io.BytesIO()
        __main__.main(verb, str(dataset.store.root), io.BytesIO(b'{"reference": "main"}\n'), answer)
        return str(json.loads(answer.getvalue())["commit"]["version"])

    put(dataset, a="1")
    job.begins()
    then = version()
    put(dataset, a="2")
    job.again()
    assert version() == then


def test_a_version_that_was_not_read_then_is_named(
    dataset: Dataset, job: _Job, capfd: pytest.CaptureFixture[str]
) -> None:
    put(dataset, a="1")
    job.begins()
    assert _read(dataset, "main") == "1"
    put(dataset, a="2")
    dataset.branch("other")
    version = dataset.resolve("other").version
    assert not capfd.readouterr().err
    job.again()
    assert [_read(dataset, each) for each in ("main", "other", "other")] == ["1", "2", "2"]
    line = "the model that this job reproduces did not read it, so the new one may differ"
    assert capfd.readouterr().err == f"dataset@other: version {version[:12]}: {line}\n"


def test_a_run_that_goes_on_with_another_version_says_so(
    dataset: Dataset, job: _Job, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """A job that was restarted after somebody has committed, or two of its pods."""
    monkeypatch.setenv("TENSORPLANE_RUN", str(tmp_path / "run"))
    first = put(dataset, a="1")
    for _ in range(2):
        job.begins()
        assert [_read(dataset, each) for each in ("main", first)] == ["1", "1"]
    assert not capfd.readouterr().err
    second = put(dataset, a="2")
    job.begins()
    assert [_read(dataset, each) for each in ("main", "main", first, dataset.resolve("main").id)] == [*"2212"]
    one, other = (dataset.resolve(each).version[:12] for each in (first, second))
    line = f"dataset@main: is version {other} now, and was {one} earlier in this run"
    assert capfd.readouterr().err == f"{line}; to train on one version, open it by its id\n"


def test_a_base_and_a_label_are_what_references_name_now(dataset: Dataset, job: _Job) -> None:
    """What such a job writes, it writes again."""
    put(dataset, a="1")
    job.begins()
    dataset.open("main")
    second = put(dataset, a="2")
    job.again()
    assert dataset.label("made", "main").id == second
    put(dataset, base="main", b="3")
    assert [path for path, _, _ in dataset.diff(second)] == ["b"]
