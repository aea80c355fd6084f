"""A platform of two teams, from components of this program's own."""

import tensorplane.pulumi as tp
from components import team

TEAMS = {"vision": 8, "speech": 4}
parts = [team.sections(name, cpus) for name, cpus in TEAMS.items()]
platform = tp.Stack(
    "company",
    {
        "cluster": {"kind": "existing", "context": "lab"},
        "controllers": {"jobset": "chart"},
        **{section: {key: one for part in parts for key, one in part[section].items()} for section in parts[0]},
    },
)
for name in TEAMS:
    team.nightly(name, platform)
