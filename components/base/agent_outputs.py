"""What the agents of a stack register, as `outputs.py` has it for other components."""

from typing import TypedDict


class QuotaReturn(TypedDict):
    """The agent that returns the quota of jobs that cannot start."""

    teams: list[str]


class LostNodes(TypedDict):
    """The agent that ends or replaces pods on lost nodes."""

    teams: list[str]


class TeamBudget(TypedDict):
    """The budget of a team for a month, and what it has used of it."""

    gpuHours: float
    used: float | None
    """GPU-hours this month; None where the cluster was not asked, or did not answer."""
    month: str
    """As 2026-11; empty where `used` is None."""
    gpus: int
    """The most that pods of the team can hold."""


class Usage(TypedDict):
    """The agent that records GPU-hours."""

    teams: list[str]


class UsageOutputs(TypedDict):
    """The budgets that the records are compared with. Outputs: use is no change of the stack."""

    budgets: dict[str, TeamBudget]
    """By team."""


class CephMirrors(TypedDict):
    """What the CephFS mirrors of a stack share."""

    clusterId: str


class Snapshotter(TypedDict):
    """The agent that takes scheduled snapshots."""

    drivers: list[str]
