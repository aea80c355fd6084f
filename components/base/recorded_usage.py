"""The GPU-hours that teams have used this month, as `make` hands them from the cluster to the stack's program."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass

VARIABLE = "TENSORPLANE_USAGE"
"""Environment variable of the program: what the cluster has recorded, as JSON. Without it, nothing is known."""


@dataclass(frozen=True)
class Used:
    """What teams have used."""

    month: str
    """As 2026-11, in UTC."""
    gpu_hours: Mapping[str, float]
    """By team. One that is missing has used none."""

    def written(self) -> str:
        """The value of the variable."""
        return json.dumps({"month": self.month, "gpuHours": dict(self.gpu_hours)}, sort_keys=True)


def read() -> Used | None:
    """From the environment; None if it has nothing that can be read."""
    try:
        found = json.loads(os.environ.get(VARIABLE, ""))
        hours = {str(team): float(hours) for team, hours in found["gpuHours"].items()}
        return Used(str(found["month"]), hours)
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
