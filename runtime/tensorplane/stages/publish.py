"""The end of a pipeline: a SavedModel becomes the next version of a model server, whose gate decides if it answers.

The server's folder decides what is new: a model that is its newest version already is not published again, also where a
result of the stage says that it was served once. So a pipeline that goes back to earlier data serves its model again.
"""

from __future__ import annotations

import json
import shutil
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import Any

from tensorplane import model_versions, pod_history
from tensorplane.datasets import Refused
from tensorplane.stages.description import Stage
from tensorplane.stages.plan import Plan, is_last, path_of

SERVED = "served.json"
"""File of the stage's output: `{"server": …, "model": …, "version": 3}`."""
_LINEAGE = Path("assets.extra") / "lineage.json"
"""As of models that jobs publish (the library's `lineage.py`)."""
_SECONDS = 5.0
"""Time for one answer of the server."""


@dataclass(frozen=True)
class Server:
    """A model server as seen by the stage."""

    server: str
    model: str
    """The model's name for clients."""
    folder: Path
    """Of its versions."""
    url: str
    """Of the model, in TensorFlow Serving's REST API."""
    gated: bool
    """Whether a canary tries each version first."""

    @classmethod
    def of(cls, stage: Stage) -> Server:
        """The server to which a stage publishes."""
        found = dict(stage.publish or {})
        return cls(**{**found, "folder": Path(found["folder"])})


def published(stage: Stage, run: str, model: Path) -> int:
    """Publishes the SavedModel in a folder; its number.

    Raises Refused for another folder, and TakenOver once the run is over: whatever a pod of it had begun.
    """
    server, began = Server.of(stage), time.time()
    if not (model / "saved_model.pb").is_file():
        raise Refused(f"{model}: has no saved_model.pb; let the stage before write a SavedModel to /out")
    (source,) = Plan.read(path_of(stage, run)).inputs
    record = {
        "pipeline": stage.pipeline,
        "stage": stage.name,
        "run": run,
        "inputs": [{key: source[key] for key in ("dataset", "version", "commit")}],
        "published": pod_history.text(time.time()),
        "started": pod_history.text(began),
        "machines": [pod_history.since(began)],
    }
    of_dataset = f"{source['dataset']}@"
    publisher = f"{of_dataset}{source['version']}"

    def is_ours() -> bool:
        return is_last(stage, run)

    # A pod of a former run, which is cut off or paused, has another version.
    for other in model_versions.publishers(server.folder):
        if other.startswith(of_dataset) and other != publisher:
            model_versions.fence_former(server.folder, other, is_ours=is_ours)
    return model_versions.add(lambda draft: _copied(model, draft, record), server.folder, publisher, is_ours=is_ours)


def served(stage: Stage, version: int, out: Path, pause: Callable[[], object] = lambda: time.sleep(1)) -> None:
    """Waits until the server serves a version, and writes SERVED to a folder. `pause`: between two looks at the server.

    Raises Refused if the server refuses the version.
    """
    server = Server.of(stage)
    while not _is_served(server, version):
        pause()
    about = {"server": server.server, "model": server.model, "version": version}
    (out / SERVED).write_text(json.dumps(about, sort_keys=True) + "\n")


def _copied(model: Path, draft: Path, record: Mapping[str, Any]) -> None:
    """Copies the model's files. Not their modes: those of a dataset's version are read-only, and so are its folders."""
    draft.mkdir()
    for path in sorted(model.rglob("*")):
        target = draft / path.relative_to(model)
        target.mkdir() if path.is_dir() else shutil.copyfile(path, target)
    (draft / _LINEAGE).parent.mkdir(exist_ok=True)
    (draft / _LINEAGE).write_text(json.dumps(record, indent=2) + "\n")


def _is_served(server: Server, version: int) -> bool:
    """Whether clients get this version. Raises Refused once they never will."""
    if server.gated and not _is_decided(server, version):
        return False
    state = next(iter(_states(f"{server.url}/versions/{version}")), {})
    if state.get("state") == "AVAILABLE":
        return True
    if not server.gated and state.get("state") == "END" and (reason := state.get("status", {}).get("error_message")):
        raise Refused(f"{server.server}: cannot load version {version}: {reason}")
    newer = _promoted_since(server, version) if server.gated else _served_instead(server, version)
    if newer:
        problem = f"version {newer} was published meanwhile, and replaced it"
        raise Refused(f"{server.server}: version {version} is not served: {problem}")
    return False


def _promoted_since(server: Server, version: int) -> int | None:
    """A newer version that the gate has let through after the last decision on this one."""
    newer = None
    for one in _decisions(server):
        if one["version"] == version:
            newer = None
        elif one["version"] > version and one.get("action") == "Promoted":
            newer = one["version"]
    return newer


def _served_instead(server: Server, version: int) -> int | None:
    """A newer version that a server answers with, which has unloaded this one or never loads it."""
    states = {int(each["version"]): each.get("state") for each in _states(server.url) if "version" in each}
    newer = [number for number, state in states.items() if number > version and state == "AVAILABLE"]
    return max(newer) if newer and states.get(version) in (None, "END") else None


def _is_decided(server: Server, version: int) -> bool:
    """Whether the gate has let the version through."""
    # In their order: a former controller may write one late, once more.
    decisions = sorted(_decisions(server), key=lambda one: int(one["number"]))
    of_version = [one for one in decisions if one["version"] == version]
    last = of_version[-1] if of_version else {}
    if last.get("action") in ("RolledBack", "NotServed"):
        raise Refused(f"{server.server}: version {version} is not served: {last['reason']}")
    if not last and any(one["version"] > version for one in decisions):
        raise Refused(f"{server.server}: version {version} was not tried: a newer one was published meanwhile")
    return last.get("action") in ("Promoted", "Pinned")


def _decisions(server: Server) -> Iterator[Mapping[str, Any]]:
    """The decisions on record, without a line that is being written."""
    file = server.folder / ".rollouts" / f"{server.server}.jsonl"
    for line in file.read_text().splitlines() if file.exists() else ():
        try:
            found = json.loads(line)
        except ValueError:
            continue
        if isinstance(found, dict) and all(isinstance(found.get(key), int) for key in ("number", "version")):
            yield found


def _states(url: str) -> Sequence[Mapping[str, Any]]:
    """What the server says of a version, or of all; empty if it does not answer for it."""
    try:
        with urllib.request.urlopen(url, timeout=_SECONDS) as answer:  # noqa: S310
            found = json.load(answer)["model_version_status"]
    except (OSError, HTTPException, ValueError, KeyError):
        return []
    return list(found)
