"""What the agents of a stack register, as `facts.py` has it for other components."""

from typing import TypedDict


class QuotaReturn(TypedDict):
    """The agent that returns the quota of jobs that cannot start."""

    teams: list[str]


class Usage(TypedDict):
    """The agent that records GPU-hours."""

    teams: list[str]


class CephMirrors(TypedDict):
    """What the CephFS mirrors of a stack share."""

    clusterId: str


class Snapshotter(TypedDict):
    """The agent that takes scheduled snapshots."""

    drivers: list[str]
