"""What a failed test shows beside its assertion: versions, the cluster's events and unhappy pods, last log lines."""

from __future__ import annotations

import os
import platform
import subprocess
import tempfile
from collections.abc import Callable, Generator, Iterable, Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from tensorplane.core.kube import Kube
from tensorplane.core.paths import PROJECT
from tensorplane.embedded.cluster import processes
from tensorplane.embedded.instance import Instance

_EVENTS = 30
_PODS = 8
_FILES = 8
_LINES = 15
_PACKAGES = ("pulumi", "pulumi-kubernetes", "tensorflow-cpu", "keras", "pydantic")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
    """Adds a section each to the report of a failure."""
    report = yield
    if report.failed:
        cluster = _running_cluster()
        parts: dict[str, Callable[[], Iterable[str]]] = {
            "versions": _versions,
            "logs": lambda: _logs(_folders(item, cluster), since=call.start),
        }
        if cluster:
            parts |= {"events": lambda: _events(cluster), "pods": lambda: _pods(cluster)}
        report.sections += [(title, text) for title, part in parts.items() if (text := _text(part))]
    return report


def _text(part: Callable[[], Iterable[str]]) -> str:
    try:
        return "\n".join(part())
    except Exception as error:  # a cluster that is the reason of the failure may not answer
        return f"not known: {error}"


def _versions() -> Iterator[str]:
    commit = subprocess.run(["git", "describe", "--always", "--dirty"], cwd=PROJECT, capture_output=True, text=True)
    yield f"commit {commit.stdout.strip()}, Python {platform.python_version()}, Linux {platform.release()}"
    yield ", ".join(f"{name} {metadata.version(name)}" for name in _PACKAGES)
    yield f"load {', '.join(f'{load:.1f}' for load in os.getloadavg())} on {os.cpu_count()} cores"


def _running_cluster() -> Instance | None:
    """The embedded cluster of the test's own, which fixtures name in the environment."""
    instance = Instance.current()
    return instance if instance.name != "dev" and processes.find(instance) else None


def _folders(item: pytest.Item, cluster: Instance | None) -> list[Path]:
    """Where programs of the test write logs."""
    given = getattr(item, "funcargs", {}).get("tmp_path")
    logs = [Path(given)] if given else []
    return [*logs, *([cluster.home / "logs"] if cluster else []), Path(tempfile.gettempdir())]


def _logs(folders: Iterable[Path], since: float) -> Iterator[str]:
    """The last lines of logs that were written since the test began."""
    logs = (path for folder in folders for path in folder.rglob("*.log") if path.is_file())
    found = {path for path in logs if path.stat().st_mtime >= since}
    for path in sorted(found, key=lambda path: path.stat().st_mtime)[-_FILES:]:
        yield f"{path}:"
        yield from (f"  {line}" for line in path.read_text(errors="replace").splitlines()[-_LINES:])


def _events(cluster: Instance) -> Iterator[str]:
    events = Kube.of(cluster.kubeconfig).items("/api/v1/events")
    for event in sorted(events, key=_moment)[-_EVENTS:]:
        about = event["involvedObject"]
        named = f"{about.get('namespace', '')}/{about.get('kind')} {about.get('name')}"
        yield f"{_moment(event)} {event.get('reason')} {named}: {event.get('message', '').strip()}"


def _moment(event: dict[str, Any]) -> str:
    return str(event.get("lastTimestamp") or event.get("eventTime") or event["metadata"]["creationTimestamp"])


def _pods(cluster: Instance) -> Iterator[str]:
    """Pods that neither run nor have succeeded, with the last lines of their containers."""
    kube = Kube.of(cluster.kubeconfig)
    unhappy = [pod for pod in kube.items("/api/v1/pods") if not _is_healthy(pod["status"])]
    for pod in unhappy[-_PODS:]:
        namespace, name, status = pod["metadata"]["namespace"], pod["metadata"]["name"], pod["status"]
        yield f"{namespace}/{name}: {status.get('phase')} {status.get('reason', '')} {status.get('message', '')}"
        for condition in status.get("conditions", []):
            if condition["status"] != "True":
                yield f"  {condition['type']}: {condition.get('reason', '')} {condition.get('message', '')}"
        for container in (*status.get("initContainerStatuses", []), *status.get("containerStatuses", [])):
            yield f"  {container['name']}: {container['state']}"
            path = f"/api/v1/namespaces/{namespace}/pods/{name}/log"
            log = kube.text(path, container=container["name"], tailLines=str(_LINES))
            yield from (f"    {line}" for line in log.splitlines())


def _is_healthy(status: dict[str, Any]) -> bool:
    ready = all(container.get("ready") for container in status.get("containerStatuses", []))
    return status.get("phase") == "Succeeded" or (status.get("phase") == "Running" and ready)
