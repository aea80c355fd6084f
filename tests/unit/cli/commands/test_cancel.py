"""`tensorplane cancel`: what it says of a job that waits, and of one that runs."""

from __future__ import annotations

from typing import Any, cast

import pytest

from cli.access import Access
from cli.commands.cancel import cancel
from driver.kube import Kube


class Api:
    """An API server with one JobSet."""

    def __init__(self, *, suspend: bool) -> None:
        labels = {"kueue.x-k8s.io/queue-name": "research"}
        about = {
            "name": "train-1",
            "namespace": "vision",
            "labels": labels,
            "creationTimestamp": "2026-11-25T10:00:00Z",
        }
        self.job_set = {"metadata": about, "spec": {"suspend": suspend, "replicatedJobs": []}}

    def items(self, path: str, **_: str) -> list[dict[str, Any]]:
        return [self.job_set]

    def delete(self, path: str, **_: str) -> None:
        assert path.endswith("/namespaces/vision/jobsets/train-1")


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
