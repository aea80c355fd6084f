"""A team whose pods the API server refuses for a reason that nobody knew when the job was made."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tensorplane.core.gvk import GVK
from tests.queues.docs_job import TEAM, example, pod, without_gpus
from tests.queues.jobs import Jobs
from tests.support.waiting import eventually

_QUOTA = GVK("", "v1", "ResourceQuota")


@contextmanager
def limited(jobs: Jobs, name: str, **hard: str) -> Iterator[None]:
    """A ResourceQuota that leaves no room for a pod, in force until the end of the block and no longer."""
    spec = {"hard": {key.replace("_", "/"): value for key, value in hard.items()}}
    about = {"name": name, "namespace": TEAM}
    plain = pod(without_gpus(example(labels={})))
    jobs.api.create({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": about, "spec": spec}, manager="test")
    try:
        # Until its controller has looked at it, it limits nothing.
        eventually(lambda: "hard" in jobs.api.get(_QUOTA, name, TEAM).get("status", {}))
        eventually(lambda: f"exceeded quota: {name}" in jobs.refusal(plain))
        yield
    finally:
        jobs.api.delete(_QUOTA, name, TEAM)
        # The API server goes on for as long as its cache has it.
        eventually(lambda: "exceeded quota" not in jobs.refusal(plain))
