"""A role of a job that has ended may run again, so the job keeps its quota until all have ended."""

from __future__ import annotations

from tensorplane.components.queues.settings import QueueArgs
from tests.queues.jobs import JOB_SET, Jobs, workers
from tests.queues.placed import T4
from tests.support.waiting import eventually

_CLASS = "batch"
"""The queue whose priority class the jobs have."""


def test_the_quota_of_a_role_that_has_ended_stays_with_its_job(queues: Jobs) -> None:
    def has_ended(role: str) -> bool:
        status = queues.api.get(JOB_SET, "roles", queues.stack)["status"]["replicatedJobsStatus"]
        return any((each["name"], each["succeeded"]) == (role, 1) for each in status)

    with queues.queues({"alone": QueueArgs(gpus={T4: 4}, cohort="none")}):
        queues.admitted("roles", "alone", [workers(2, 1, role="quick"), workers(1, 1, role="slow")], priority=_CLASS)
        queues.create("two", "alone", [workers(1, 2)], priority=_CLASS)
        eventually(lambda: queues.finish("roles", 2, role="quick"))
        eventually(lambda: has_ended("quick"))
        for number in range(5):  # so often it looks at what waits, first at the one that came first
            queues.admitted(f"one-{number}", "alone", [workers(1, 1)], priority=_CLASS)
            queues.delete(f"one-{number}")
        assert not queues.holds_quota("two")
