"""Cancelled jobs: what is kept of them, for how long, and from whom."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import pytest

from tensorplane.cli.training_jobs import cancelled
from tensorplane.cli.training_jobs.listing import Job
from tensorplane.components.base.price import Usd
from tensorplane.core.kube import Kube

THEN = datetime(2026, 11, 25, 12, 0, tzinfo=UTC)
JOB = Job(
    name="train",
    run="train-1",
    uid="1",
    namespace="vision",
    state="running",
    queue="research",
    flavors=("t4",),
    pods=2,
    gpus=8,
    restarts=1,
    created=THEN - timedelta(hours=2),
    ended=THEN,
    gpu_hours=16.0,
    usd=Usd(3, 4),
)


class Api:
    """An API server with server-side apply of a ConfigMap: what a manager no longer names is gone."""

    def __init__(self) -> None:
        self.owned: dict[str, dict[str, str]] = {}

    def get(self, _: str) -> dict[str, Any]:
        data = {key: text for of in self.owned.values() for key, text in of.items()}
        return {"metadata": {"name": cancelled.NAME, "namespace": "vision"}, "data": data}

    def apply(self, path: str, thing: dict[str, Any], manager: str) -> None:
        assert path == "/api/v1/namespaces/vision/configmaps/tensorplane-cancelled"
        self.owned[manager] = thing["data"]

    @property
    def cancelled(self) -> list[Job]:
        return cancelled.read([self.get("")])


@pytest.fixture
def api() -> Api:
    return Api()


def _note(api: Api, job: Job) -> None:
    cancelled.note(cast(Kube, api), job)


def test_it_is_kept_as_it_was_until_it_is_submitted_again(api: Api) -> None:
    _note(api, JOB)
    assert api.cancelled == [replace(JOB, state="cancelled", flavors=())]
    cancelled.forget(cast(Kube, api), "vision", "train-2")
    assert len(api.cancelled) == 1
    cancelled.forget(cast(Kube, api), "vision", "train-1")
    assert api.cancelled == []


def test_only_the_newest_are_kept(api: Api) -> None:
    for number in range(25):
        _note(api, replace(JOB, run=f"train-{number}", ended=THEN + timedelta(minutes=number)))
    assert {one.run for one in api.cancelled} == {f"train-{number}" for number in range(5, 25)}
    _note(api, replace(JOB, run="train-24", ended=THEN + timedelta(hours=9)))
    assert len(api.cancelled) == 20


def test_a_job_set_that_is_there_says_more(api: Api) -> None:
    _note(api, JOB)
    there = {"metadata": {"namespace": "vision", "name": "train-1"}}
    elsewhere = {"metadata": {"namespace": "speech", "name": "train-1"}}
    assert [len(cancelled.gone(api.cancelled, [one])) for one in (there, elsewhere)] == [0, 1]


@pytest.mark.parametrize(
    ("name", "found"), [("train", True), ("train-1", True), ("vision/train-1", True), ("t", False)]
)
def test_it_is_found_by_its_names(api: Api, name: str, found: int) -> None:
    _note(api, JOB)
    assert (cancelled.newest(api.cancelled, "vision", name) is not None) is found
    assert cancelled.newest(api.cancelled, "tensorplane-dev", "train") is None, "a team's names are its own"


@pytest.mark.parametrize(
    "changed",
    [{"state": "well"}, {"gpus": "many"}, {"ended": None}, {"created": "2026-11-25T10:00:00"}, {"name": "\x1b[2J"}],
)
def test_what_does_not_look_like_a_job_is_left_out(api: Api, changed: dict[str, Any]) -> None:
    _note(api, JOB)
    whole = json.loads(api.get("")["data"]["train-1"])
    config_map = {"metadata": {"namespace": "vision"}, "data": {"a": json.dumps(whole | changed), "b": "{", "c": "[]"}}
    assert cancelled.read([config_map]) == []


def test_it_cannot_pass_for_another_namespaces(api: Api) -> None:
    _note(api, JOB)
    forged = {"metadata": {"namespace": "speech"}, "data": api.get("")["data"]}
    assert [one.namespace for one in cancelled.read([forged])] == ["speech"]
