"""Variables with the deadlines that the launcher keeps (the library's `run_deadline.py` and `progress_deadline.py`)."""

from workloads.training_job.role import Role
from workloads.training_job.settings import JobSettings


def of_run(settings: JobSettings) -> dict[str, str]:
    """Those of the pod that writes the checkpoints, which ends the run at its deadline."""
    if settings.total_deadline_seconds is None:
        return {}
    return {
        "TENSORPLANE_DEADLINE": str(settings.total_deadline_seconds),
        "TENSORPLANE_GRACE": str(settings.grace_seconds),
    }


def of_progress(role: Role, settings: JobSettings) -> dict[str, str]:
    """Those of a role's pods, which end without progress. Programs of the library, such as servers, make no steps."""
    if settings.progress_deadline_seconds is None or role.program is not None:
        return {}
    return {"TENSORPLANE_PROGRESS_DEADLINE": str(settings.progress_deadline_seconds)}
