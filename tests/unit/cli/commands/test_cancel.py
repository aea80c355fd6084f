"""`tensorplane cancel`: what it says of a job that waits, and of one that runs."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, cast

import pytest

from tensorplane.cli.access import Access
from tensorplane.cli.commands.cancel import cancel
from tensorplane.cli.commands.jobs import command as jobs
from tensorplane.core.errors import UserError
from tensorplane.core.kube import Kube


class Api:
    """An API server with one JobSet."""

    def __init__(self, *, suspend: bool) -> None:
        labels = {"kueue.x-k8s.io/queue-name": "research"}
        about = {
            "name": "train-1",
            "namespace": "vision",
            "labels": labels,
            "creationTimestamp": "2026-11-25T10:00:00Z",
            "uid": "1",
        }
        self.job_set = {"metadata": about, "spec": {"suspend": suspend, "replicatedJobs": []}}

        self.config_maps: dict[str, dict[str, Any]] = {}
        self.deleted = False

    def items(self, path: str, **_: str) -> list[dict[str, Any]]:
        if path.endswith("/configmaps"):
            return list(self.config_maps.values())
        return [self.job_set] if path.endswith("/jobsets") and not self.deleted else []

    def metadata(self, path: str) -> list[dict[str, Any]]:
        return [{"metadata": one["metadata"]} for one in self.items(path)]

    def get(self, path: str) -> Any:
        return self.job_set if path.endswith("/jobsets/train-1") else self.config_maps.get(path)

    def apply(self, path: str, thing: dict[str, Any], manager: str) -> None:
        self.config_maps[path] = thing

    def delete(self, path: str, **_: str) -> None:
        assert path.endswith("/namespaces/vision/jobsets/train-1")
        self.deleted = True


@pytest.mark.parametrize(
    ("suspend", "told"),
    [(True, "removed from queue research"), (False, "cancelled; its pods have 0 s to save and end")],
)
def test_what_becomes_of_its_pods_is_said_of_a_job_that_has_some(
    suspend: bool, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    access = Access(cast(Kube, Api(suspend=suspend)), "vision", team="vision")
    monkeypatch.setattr(Access, "of", lambda *_: access)
    assert cancel("train-1", "dev", "vision", "") == f"train-1: {told}"
    (row,) = jobs.ask(access, datetime.now(UTC))
    assert (row.job.run, row.job.state, row.job.queue) == ("train-1", "cancelled", "research")
    with pytest.raises(
        UserError, match=r"^train-1: was cancelled at .*; to continue it, run the command that has started"
    ):
        access.job("train-1")
