"""One run of a job on real nodes: its pods and their processes, and what the volume has of it."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import signal
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tensorplane.cli.training_jobs import jobset_api
from tensorplane.components.base.labels import JOB_SET_NAME
from tensorplane.core.kube import Kube
from tensorplane.embedded.cluster import cgroups
from tensorplane.embedded.instance import Instance
from tests.nodes import steps
from tests.support.nodes import RealNode

_DRAFTS = (".saving", ".run.json")
"""In a run's folder; nobody but its writer reads them."""


@dataclass(frozen=True)
class Run:
    """The run of one JobSet."""

    instance: Instance
    kube: Kube
    namespace: str
    models: Path
    """The folder of the volume."""
    job: str
    name: str

    def job_set(self) -> dict[str, Any]:
        """Empty once it is deleted."""
        return self.kube.get(self._path) or {}

    def ended(self) -> str:
        """How it has ended: finished or failed; empty before."""
        return jobset_api.outcome(self.job_set())

    def delete(self) -> None:
        """Deletes the JobSet; what it wrote stays."""
        self.kube.delete(self._path)

    def pods(self) -> list[dict[str, Any]]:
        """All that the API server has, also those that are being deleted."""
        path = f"/api/v1/namespaces/{self.namespace}/pods"
        return self.kube.items(path, labelSelector=f"{JOB_SET_NAME}={self.name}")

    def on(self, node: RealNode) -> set[str]:
        """The uids of its pods on a node."""
        return {each["metadata"]["uid"] for each in self.pods() if each["spec"].get("nodeName") == node.name}

    def chief(self) -> dict[str, Any] | None:
        """The pod that saves and publishes, once it has a node."""
        found = [each for each in self.pods() if jobset_api.role_and_index(each) == (self._writes, 0)]
        here = [each for each in found if each["spec"].get("nodeName") and "deletionTimestamp" not in each["metadata"]]
        return here[0] if here else None

    def processes(self, uids: Iterable[str]) -> set[int]:
        """Those of pods, by the pods' uids."""
        names, found = {f"pod{uid}" for uid in uids}, set[int]()
        for path, _, _ in os.walk(cgroups.folders(self.instance)[0]):
            if names & set(Path(path).parts):
                with contextlib.suppress(OSError):  # it has just ended
                    found |= {int(pid) for pid in (Path(path) / "cgroup.procs").read_text().split()}
        return found

    @property
    def writer(self) -> str:
        """The name of the folder of whoever writes for the run; empty before the first."""
        with contextlib.suppress(OSError):
            return self._folder.readlink().parent.name
        return ""

    @property
    def writers(self) -> list[str]:
        """The folders of writers that exist."""
        at = self._folder.with_name(f".{self.name}")
        return sorted(each.name for each in at.iterdir()) if at.exists() else []

    def log(self) -> str:
        """What the writer's newest start has printed, from the volume."""
        found = (self._folder.parent / "logs" / self.name).glob(f"{self._writes}-0.*.log")
        newest = max(found, key=lambda path: int(path.suffixes[-2][1:]), default=None)
        return newest.read_text(errors="replace") if newest else ""

    def step(self) -> int:
        """The last step that its newest start has printed; 0 before."""
        return steps.last(self.log())

    def is_held(self) -> bool:
        """Whether its chief has come to where it is held."""
        return self._folder.with_name(f"{self.name}.held").exists()

    def go(self) -> None:
        """Let the chief that is held go on."""
        self._folder.with_name(f"{self.name}.go").touch()

    def gates(self) -> list[str]:
        """What is left of writers of versions."""
        return sorted(each.name for each in (self.models / self.job / f".writers-{self.name}").glob("*"))

    def versions(self) -> list[Path]:
        """The versions that servers see, and that are this run's."""
        base = self.models / self.job
        found = [each for each in base.iterdir() if each.name.isdecimal()] if base.exists() else []
        return [each for each in found if (each / "assets.extra" / "run").read_text() == self.name]

    def content(self) -> dict[str, str]:
        """The digests of the variables of its version."""
        version = max(self.versions(), key=lambda each: int(each.name))
        found: dict[str, str] = json.loads((version / "assets.extra" / "content.json").read_text())
        return found

    def observed(self) -> dict[str, tuple[object, ...]]:
        """All that others read of the run: each file's inode, size, time of change and digest, and the folders."""
        found: dict[str, tuple[object, ...]] = {"writer": (self.writer,), "writers": tuple(self.writers)}
        current = self._folder.resolve() if self.writer else self._folder
        for root in (current, *self.versions()):
            for path in sorted(root.rglob("*")) if root.exists() else ():
                if path.relative_to(root).parts[0] in _DRAFTS:
                    continue
                about = path.stat()
                digest = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
                of = (about.st_ino, about.st_size, about.st_mtime_ns, digest) if digest else ()
                found[str(path.relative_to(self.models))] = of
        return found

    @property
    def _folder(self) -> Path:
        return self.models / "checkpoints" / self.name

    @property
    def _writes(self) -> str:
        return "chief" if self.job == "spread" else "worker"

    @property
    def _path(self) -> str:
        return jobset_api.path({"metadata": {"namespace": self.namespace, "name": self.name}})


def pause(pids: Iterable[int]) -> None:
    """SIGSTOP."""
    _signal(pids, signal.SIGSTOP)


def go_on(pids: Iterable[int]) -> None:
    """SIGCONT."""
    _signal(pids, signal.SIGCONT)


def _signal(pids: Iterable[int], number: signal.Signals) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


def uids(pods: Iterable[Mapping[str, Any]]) -> set[str]:
    """Of pods."""
    return {each["metadata"]["uid"] for each in pods}
