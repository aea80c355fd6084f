"""What each team of this company gets: a queue, a volume and a nightly job."""

from __future__ import annotations

from typing import Any

import tensorplane.pulumi as tp


def sections(team: str, cpus: int) -> dict[str, Any]:
    """The team's part of a platform's settings."""
    return {
        "queues": {team: {"cpus": cpus, "memoryGib": 4 * cpus}},
        "volumes": {f"{team}-models": {"sizeGib": 20}},
    }


def nightly(team: str, platform: tp.Stack) -> None:
    """The team's job, in the team's queue and on the team's volume."""
    tp.TrainingJob(
        f"{team}-nightly",
        platform=platform,
        strategy=tp.Single(),
        script=f"{team}.py",
        volumes={f"{team}-models": "/models"},
        queue=team,
    )
