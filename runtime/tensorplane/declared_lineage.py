"""What the settings declare of a job's lineage: the variables TENSORPLANE_LINEAGE and, of a pipeline's stage,
TENSORPLANE_STAGE. `lineage.py` has the format.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

VARIABLE = "TENSORPLANE_LINEAGE"
"""Variable with the job's part; not set outside training jobs."""
STAGE = "TENSORPLANE_STAGE"
"""Variable with the stage's part: its `pipeline` and `stage`, and `inputs`, each with its `dataset` and the `folder` of
the version that the pods have in /in."""


def read(environment: Mapping[str, str] = os.environ) -> dict[str, Any]:
    """The job's part; empty outside training jobs."""
    return dict(json.loads(environment.get(VARIABLE) or "{}"))


def reproduces(environment: Mapping[str, str] = os.environ) -> dict[str, Any]:
    """The model's version that this job makes again: `run`, `runSeed` and `inputs` of then; empty in other jobs."""
    return dict(read(environment).get("reproduces") or {})


def stage(environment: Mapping[str, str] = os.environ) -> dict[str, Any]:
    """The stage's part, with the `version` of each of its inputs; empty for other jobs."""
    found = json.loads(environment.get(STAGE) or "{}")
    inputs = [
        {"dataset": each["dataset"], "version": each["folder"].rpartition("/")[2]} for each in found.get("inputs", ())
    ]
    return {**found, "inputs": inputs} if found else {}
