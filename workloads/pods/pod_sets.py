"""A job's pods for the checks of queues and node groups."""

from tensorplane.components.queues.capacity import PodSet
from tensorplane.workloads.training_job.settings import JobSettings


def of(settings: JobSettings) -> list[PodSet]:
    """The pods of each role."""
    return [
        PodSet(
            role.name,
            role.replicas,
            role.resources,
            together=role.together,
            interruptible=settings.resumes,
            at=role.at,
            count_at=role.count_at,
        )
        for role in settings.roles()
    ]
