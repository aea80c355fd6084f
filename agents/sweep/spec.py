"""What the user declared for a sweep, and the JobSet of its trials with placeholders for the values of one trial.

The platform writes both into the controller's ConfigMap. This module needs no Optuna: the platform imports it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .asha import Asha
from .decide import Limits

Value = str | int | float | bool
"""A parameter's value."""
RUN = "tensorplane-sweep-trial"
"""Placeholder of the run's name."""
RUN_SUFFIX = "-t0000"
"""What follows the sweep's run in the name of the first trial; all are as long."""


def trial_run(sweep: str, number: int) -> str:
    """Name of a trial's JobSet. `sweep`: the sweep's run."""
    return f"{sweep}-t{number:04}"


def placeholder(parameter: str) -> str:
    """Placeholder of a parameter's value."""
    return f"<{parameter}>"


@dataclass(frozen=True)
class SweepSpec:
    """One run of a sweep."""

    name: str
    """The sweep's run; the trials' JobSets are NAME-t0000, NAME-t0001 and so on."""
    search: Mapping[str, Any]
    job_set: str
    """The trials' JobSet as JSON, with placeholders for the run's name and the parameters."""
    logs: Path
    """The folder on the volume with a folder of logs for each run."""
    ends_with_last_trial: bool = False
    """Whether the controller ends then. A Deployment would start it again, a JobSet has finished."""

    @classmethod
    def read(cls, text: str) -> SweepSpec:
        """From a ConfigMap's text."""
        plain = json.loads(text)
        job_set, logs = json.dumps(plain["jobSet"]), Path(plain["logs"])
        return cls(plain["name"], plain["search"], job_set, logs, plain.get("ends", False))

    @property
    def limits(self) -> Limits:
        pruner = self.search["pruner"]
        return Limits(
            trials=self.search["trials"],
            parallel=self.search["parallel"],
            minimize=self.search["direction"] == "minimize",
            pruner=Asha(pruner["minSteps"], pruner["reduction"]) if pruner else None,
        )

    def run(self, number: int) -> str:
        """Name of a trial's JobSet."""
        return trial_run(self.name, number)

    def manifest(self, number: int, parameters: Mapping[str, Value]) -> dict[str, Any]:
        """A trial's JobSet."""
        text = self.job_set.replace(RUN, self.run(number))
        for name, value in parameters.items():
            text = text.replace(json.dumps(placeholder(name)), json.dumps(_text(value)))
        made: dict[str, Any] = json.loads(text)
        return made


def _text(value: Value) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
