"""Settings of the triggers of a pipeline: what starts its runs."""

from typing import Annotated, Any, Self

from pydantic import AfterValidator, Field, model_validator

from tensorplane.components.base import cron
from tensorplane.components.base.model import Model, NonEmptyStr, refuse_all_but

_MIB = 2**20


def _check_schedule(value: str) -> str:
    if problem := cron.problem(value):
        refuse_all_but(problem)
    return value


class TriggerArgs(Model):
    """What starts a run on the newest versions: something new since the last run, or a schedule. `{}` is a new version
    of any dataset that the pipeline begins with. `tensorplane runs start` needs no trigger."""

    datasets: Annotated[list[NonEmptyStr], Field(min_length=1)] | None = None
    """What is counted: datasets that the pipeline begins with, as DATASET or DATASET@BRANCH; by default all of them."""
    versions: Annotated[int, Field(ge=1, le=10**6)] | None = None
    """So many new versions of them together; 1 by default. A change of the pipeline itself starts a run, too."""
    files: Annotated[int, Field(ge=1, le=10**9)] | None = None
    """So many files that were added or changed."""
    mib: Annotated[float, Field(gt=0, le=10**9)] | None = None
    """So many MiB in files that were added or changed."""
    windows: Annotated[int, Field(ge=1, le=10**6)] | None = None
    """So many windows of a stream, which a recorder has made versions of."""
    schedule: Annotated[NonEmptyStr, AfterValidator(_check_schedule)] | None = None
    """Cron schedule of five fields, in UTC: `0 2 * * *` for two each night. No run starts if the newest versions of the
    outputs are already what the pipeline makes of the newest inputs."""
    quiet_seconds: Annotated[float, Field(ge=0, le=86400)] = 0
    """How long no further version may come before the run starts, which then has all of them. Versions that come while
    a run goes on wait for its end anyway, and have one run together."""
    longest_seconds: Annotated[float, Field(ge=0, le=7 * 86400)] = 600
    """How long the run waits for `quietSeconds` at most."""

    @model_validator(mode="after")
    def _one(self) -> Self:
        if len(self._given()) > 1:
            refuse_all_but("one of versions, files, mib, windows and schedule, not several")
        if self.schedule and self.datasets:
            refuse_all_but("schedule alone, which counts nothing")
        return self

    def _given(self) -> list[str]:
        return [key for key in ("versions", "files", "mib", "windows", "schedule") if getattr(self, key) is not None]

    @property
    def plain(self) -> dict[str, Any]:
        """As the agent reads it, without its sources."""
        waits = {"quietSeconds": self.quiet_seconds, "longestSeconds": self.longest_seconds}
        if self.schedule:
            return {**waits, "schedule": cron.fields(self.schedule)}
        if self.mib is not None:
            return {**waits, "counts": "bytes", "atLeast": max(1, round(self.mib * _MIB))}
        (counts,) = self._given() or ["versions"]
        return {**waits, "counts": counts, "atLeast": getattr(self, counts) or 1}
