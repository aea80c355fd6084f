"""What the settings of a training job state of its lineage, in the variable TENSORPLANE_LINEAGE; see `lineage.py`."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

VARIABLE = "TENSORPLANE_LINEAGE"
"""Variable with the job's part; not set outside training jobs."""


def read(environment: Mapping[str, str] = os.environ) -> dict[str, Any]:
    """The job's part; empty outside training jobs."""
    return dict(json.loads(environment.get(VARIABLE) or "{}"))


def reproduces(environment: Mapping[str, str] = os.environ) -> dict[str, Any]:
    """The model's version that this job makes again: `run`, `runSeed` and `inputs` of then; empty in other jobs."""
    return dict(read(environment).get("reproduces") or {})
