"""A platform of two teams, from components of this program's own."""

import tensorplane.pulumi as tp
from components import team

TEAMS = {"vision": 8, "speech": 4}
platform = tp.Stack(
    "company",
    cluster=tp.Existing(context="lab"),
    controllers=tp.ControllersArgs(jobset="chart"),
    queues={name: team.queue(cpus) for name, cpus in TEAMS.items()},
    volumes={f"{name}-models": team.models() for name in TEAMS},
)
for name in TEAMS:
    team.nightly(name, platform)
