"""Which run a job is: the one that was deployed, unless something has changed that decides what it computes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tensorplane.workloads.training_job import run as training_job_run
from tensorplane.workloads.training_job.run import Decisive, Recorded

DECISIVE = Decisive({"command": ["python3", "train.py"], "image": "train:1", "attempt": None})
OTHER = Decisive({"command": ["python3", "train.py"], "image": "train:2", "attempt": None})
BEFORE = Recorded("digits-1a2b3c4d")
"""A run of a version that did not record what decides runs."""
ADOPTED = Recorded("digits-1a2b3c4d", DECISIVE.hashes, "m1", is_kept=True)
OURS = Recorded(DECISIVE.name("digits"), DECISIVE.hashes, "m1")


def test_a_new_run_is_named_for_what_decides_it() -> None:
    assert training_job_run.of("digits", DECISIVE, None).startswith("digits-")
    assert training_job_run.of("digits", DECISIVE, None) != training_job_run.of("digits", OTHER, None)
    assert set(DECISIVE.hashes) == {"command", "image"}, "what is not set decides nothing"


@pytest.mark.parametrize("recorded", [BEFORE, ADOPTED, OURS])
def test_a_deployed_run_keeps_its_name(recorded: Recorded) -> None:
    assert training_job_run.of("digits", DECISIVE, recorded) == recorded.name


@pytest.mark.parametrize("recorded", [ADOPTED, OURS])
def test_another_image_is_another_run(recorded: Recorded) -> None:
    assert training_job_run.of("digits", OTHER, recorded) == OTHER.name("digits")


@pytest.mark.parametrize(
    ("recorded", "manifest", "kept"),
    [
        (None, "m1", False),
        (BEFORE, "m1", True),
        (ADOPTED, "m1", True),
        (ADOPTED, "m2", False),
        (OURS, "m1", True),
        (OURS, "m2", False),
    ],
)
def test_a_job_set_stays_as_it_is_deployed_until_a_setting_changes(
    recorded: Recorded | None, manifest: str, kept: bool
) -> None:
    name = recorded.name if recorded else "digits-1"
    assert training_job_run.keeps(name, manifest, recorded) is kept


@pytest.mark.parametrize(
    ("recorded", "library"),
    [
        (BEFORE, "digits-runtime"),
        (ADOPTED, "digits-runtime"),
        (OURS, "tensorplane-library"),
        (replace(ADOPTED, library="tensorplane-library-0a1b2c3d"), "tensorplane-library-0a1b2c3d"),
    ],
)
def test_a_kept_run_has_the_library_of_the_version_that_deployed_it(recorded: Recorded, library: str) -> None:
    assert training_job_run.library_of(recorded, "digits") == library


def test_another_run_keeps_nothing() -> None:
    assert not training_job_run.keeps(OTHER.name("digits"), "m1", ADOPTED)
