"""Writes what a successful pod has published into its termination message, where `make status` and `why` read it.

It only requires the standard library, because the launcher uses it after any command.
"""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

from tensorplane import lineage
from tensorplane.model_versions import newest

TERMINATION_LOG = Path("/dev/termination-log")
"""The file whose content Kubernetes keeps in the pod's status, up to 4 KiB."""
_MOST_BYTES = 4000
_FACTS = ("run", "code", "image", "data", "steps", "metrics")
"""The facts of the lineage that the message has; the version on the volume has all."""


def write(base: Path, run: str | None, message: Path = TERMINATION_LOG) -> None:
    """Writes the newest version below `base` and its lineage, if `run` has published it."""
    facts = _facts(base, run)
    if not facts:
        return
    text = json.dumps({"published": facts})
    if len(text.encode()) > _MOST_BYTES:
        text = json.dumps({"published": {name: facts[name] for name in ("version", "run", "code") if name in facts}})
    # Outside of Kubernetes, there is no such file to write.
    with contextlib.suppress(OSError):
        message.write_text(text)


def _facts(base: Path, run: str | None) -> dict[str, Any]:
    version = newest(base)
    try:
        found = json.loads((base / str(version) / lineage.FILE).read_text())
    except (OSError, ValueError):
        return {}
    if not isinstance(found, dict) or run is None or found.get("run") != run:
        return {}
    return {"version": f"{base.name}/{version}", **{name: found[name] for name in _FACTS if name in found}}
