"""The pod of a copy: it mounts one volume, and waits for programs that the command runs in it."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from tensorplane.cli.api_values import Object
from tensorplane.cli.commands.cp import transfer
from tensorplane.components.base.labels import labels
from tensorplane.components.base.model import Resources
from tensorplane.components.base.problems import Problem
from tensorplane.components.node_groups import placement
from tensorplane.components.volumes.members import groups
from tensorplane.core.errors import UserError
from tensorplane.stack import ResolvedStack
from tensorplane.workloads.family import Declared
from tensorplane.workloads.pods import checks as pods_checks
from tensorplane.workloads.pods import pod, references

ROOT = "/volume"
"""Mount path of the volume."""
ACCOUNT = "default"
"""The service account of every namespace, which no volume lists by itself."""
_PROGRAM = "TENSORPLANE_COPY"
_MOST_SECONDS = 24 * 3600
"""A pod whose command was killed ends by itself."""
_WAIT = f"import time; time.sleep({_MOST_SECONDS})"
_NO_SOURCES: Mapping[str, str] = MappingProxyType({})
_RESOURCES = Resources(cpus=0.05, memory_gib=0.25)


def command(verb: str, path: str) -> list[str]:
    """What to run in the pod: one end of a copy."""
    return ["python3", "-I", "-c", f"import os; exec(os.environ['{_PROGRAM}'])", verb, ROOT, path]


def of(
    resolved: ResolvedStack,
    volume: str,
    account: str,
    *,
    read_only: bool,
    env: Mapping[str, str] | None = None,
    sources: Mapping[str, str] = _NO_SOURCES,
) -> Object:
    """The pod. A UserError if the settings do not let this service account mount the volume so.

    `env`: what the programs in it need; by default one end of a copy. `sources`: mount paths of other volumes, which it
    only reads.
    """
    mounted = [(volume, ROOT, read_only), *((name, path, True) for name, path in sources.items())]
    found = [
        (name, problem) for name, _, only in mounted for problem in _problems(resolved, name, account, read_only=only)
    ]
    if lines := [f"{name}: {problem.reason}" for name, problem in found]:
        raise UserError(*lines)
    container = pod.Container(
        image=resolved.config.cluster.images.python,
        resources=_RESOURCES,
        command=["python3", "-I", "-c", _WAIT],
        env=pod.variables(env or {_PROGRAM: Path(transfer.__file__).read_text()}),
        volumes=[
            references.mountable(name, resolved.platform).at(path, read_only=only) for name, path, only in mounted
        ],
    )
    about = labels(f"copy-{volume}", "copy")
    constraints = placement.spec(resolved.fleet, _RESOURCES, interruptible=False)
    made = pod.template(account, about, container, grace_seconds=0, restart_policy="Never", placement=constraints)
    name = {"name": f"copy-{volume}-{uuid.uuid4().hex[:5]}", "namespace": resolved.config.namespace_name}
    spec: dict[str, Any] = {**made["spec"], "activeDeadlineSeconds": _MOST_SECONDS}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {**made["metadata"], **name}, "spec": spec}


def _problems(resolved: ResolvedStack, volume: str, account: str, *, read_only: bool) -> list[Problem]:
    config, at = resolved.config, ("volumes", volume)
    declared = Declared(
        cluster=config.cluster,
        fleet=resolved.fleet,
        volumes=config.volumes,
        datasets={},
        streams=config.streams,
        queues=config.queues,
        capacities=resolved.capacities,
        models={},
        teams=config.teams,
        prometheus=config.controllers,
        workloads=frozenset(),
    )
    found = [
        *pods_checks.check_volume(volume, at, config.volumes),
        *pods_checks.check_stream(volume, at, declared.records),
    ]
    if not read_only:
        found += pods_checks.check_mirror(volume, at, config.volumes)
    args = config.volumes.get(volume)
    # Of users in groups, only the API server knows.
    if args and not groups([*(args.readers or ()), *(args.writers or ())]):
        found += pods_checks.check_access(account, volume, at, config.volumes, read_only=read_only)
    return found
