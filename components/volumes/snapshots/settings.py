"""Settings of scheduled snapshots."""

from typing import Annotated

from pydantic import AfterValidator, Field

from tensorplane.components.base import cron, value_types
from tensorplane.components.base.model import Model, Name, refuse_all_but
from tensorplane.components.base.value_types import Age

DEFAULT_KEEP = 24
"""How many snapshots a schedule without `keep` and `expire` keeps. The text of `keep` repeats it; a test compares."""


def _check_schedule(value: str) -> str:
    required = cron.problem(value)
    if required:
        refuse_all_but(required)
    return cron.MACROS.get(value, value)


class SnapshotsArgs(Model):
    """When snapshots are taken, and which are kept. Snapshots that were not taken by this schedule are never
    deleted."""

    schedule: Annotated[str, AfterValidator(_check_schedule)]
    """Cron schedule of five fields, in UTC: `0 * * * *` for every hour."""
    keep: Annotated[int, Field(ge=1, le=1000)] | None = None
    """Number of snapshots to keep. Older ones are deleted once a newer one is ready. 24 if `expire` is not set either.
    """
    expire: Age | None = None
    """Age at which a snapshot is deleted, such as 36h, 30d or 8w. With CSI, the newest snapshot is always kept."""

    group: Name | None = None
    """Group of volumes whose snapshots are taken at the same instant. All volumes of a group have the same schedule."""

    @property
    def count(self) -> list[str]:
        """Number of snapshots to keep, as the CronJob's argument."""
        keep = self.keep or (None if self.expire else DEFAULT_KEEP)
        return [f"--keep={keep}"] if keep else []

    @property
    def expire_seconds(self) -> int | None:
        """The age in seconds."""
        return value_types.seconds(self.expire) if self.expire else None
