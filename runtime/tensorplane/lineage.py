"""Where a model comes from: code, data, run, versions, steps and metrics, recorded in each version that is published.

The job's part comes from its settings, in the variable TENSORPLANE_LINEAGE: a JSON object with `job`, `run`, `image`,
`code` (a digest of the job's files) and `data` (volumes and streams). The library notes the rest while it trains. It
only requires the standard library.
"""

from __future__ import annotations

import json
import os
import platform
import sys
import time
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

from tensorplane.version import __version__

VARIABLE = "TENSORPLANE_LINEAGE"
"""Variable with the job's part; not set outside training jobs."""
FILE = Path("assets.extra") / "lineage.json"
"""Its place in a published version; model servers ignore the folder."""
_PACKAGES = {"tensorflow": ("tensorflow", "tensorflow-cpu"), "keras": ("keras",), "tf_keras": ("tf_keras",)}

_noted: dict[str, Any] = {}


def note(**facts: Any) -> None:
    """Note facts of this process' training: `steps`, `checkpoint` (a step), `metrics` or `dataset`; the last counts."""
    _noted.update(facts)


def run(environment: Mapping[str, str] = os.environ) -> str | None:
    """The name of the run; None outside training jobs that have one."""
    folder = environment.get("CHECKPOINT_DIR")
    return _of_job(environment).get("run") or (Path(folder).name if folder else None)


def record(
    publisher: str, metrics: Mapping[str, float] | None = None, environment: Mapping[str, str] = os.environ
) -> dict[str, Any]:
    """The record of a version that `publisher`, a run, publishes now. `metrics`: by default the last reported ones."""
    job = _of_job(environment)
    data = {**job.get("data", {}), **({"dataset": _noted["dataset"]} if "dataset" in _noted else {})}
    found = {
        **job,
        "run": publisher,
        "data": data,
        "versions": {"tensorplane": __version__, "python": platform.python_version(), **_packages()},
        "steps": _noted.get("steps"),
        "checkpoint": _noted.get("checkpoint"),
        "metrics": dict(metrics if metrics is not None else _noted.get("metrics", {})),
        "published": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }
    return {name: value for name, value in found.items() if value not in (None, {})}


def _of_job(environment: Mapping[str, str]) -> dict[str, Any]:
    return dict(json.loads(environment.get(VARIABLE) or "{}"))


def _packages() -> dict[str, str]:
    """Versions of the packages that the process uses."""
    found = {}
    for module, distributions in _PACKAGES.items():
        for distribution in distributions if module in sys.modules else ():
            try:
                found[module] = metadata.version(distribution)
            except metadata.PackageNotFoundError:
                continue
    return found
