"""What each team of this company gets: a queue, a volume and a nightly job."""

from __future__ import annotations

import tensorplane.pulumi as tp


def queue(cpus: int) -> tp.QueueArgs:
    """The team's queue, with 4 GiB of memory for each processor."""
    return tp.QueueArgs(cpus=cpus, memory_gib=4 * cpus)


def models() -> tp.VolumeArgs:
    """The volume of the team's models."""
    return tp.VolumeArgs(size_gib=20)


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
