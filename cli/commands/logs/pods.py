"""The pods of a job whose lines are wanted, and the log of each of their containers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tensorplane.cli.api_values import Object
from tensorplane.cli.pipelines.workflow import is_of_argo
from tensorplane.cli.training_jobs.jobset_api import role_and_index
from tensorplane.core.errors import UserError
from tensorplane.core.kube import Kube
from tensorplane.stack_file.nearest import did_you_mean


@dataclass(frozen=True)
class LogsOptions:
    """Which lines of which pods."""

    role: str | None = None
    """None: all roles."""
    index: int | None = None
    """Within the role; None: all."""
    previous: bool = False
    """Those of the start before the last one."""
    tail: int | None = None
    """The last lines of each pod; None: all."""

    @property
    def query(self) -> dict[str, str]:
        """The parameters of the API's request."""
        return {} if self.tail is None else {"tailLines": str(self.tail)}


def chosen(pods: Sequence[Object], options: LogsOptions) -> list[Object]:
    """The pods of this choice, by role and index. A UserError if the job has pods, but none of this role or index."""
    roles = sorted({role_and_index(pod)[0] for pod in pods})
    if options.role and roles and options.role not in roles:
        have = f"{', '.join(roles)}{did_you_mean(options.role, roles)}"
        raise UserError(f"--role: the job has no role {options.role}; it has {have}")
    found = [pod for pod in pods if not options.role or role_and_index(pod)[0] == options.role]
    indices = {role_and_index(pod)[1] for pod in found}
    if options.index is not None and found and options.index not in indices:
        raise UserError(f"--index: no pod has index {options.index}; the last one is {max(indices)}")
    found = [pod for pod in found if options.index is None or role_and_index(pod)[1] == options.index]
    return sorted(found, key=lambda pod: (role_and_index(pod), str(pod["metadata"]["creationTimestamp"])))


def has_started(pod: Object) -> bool:
    """Whether its container has run, so that it has a log."""
    states = [each.get("state") or {} for each in (pod.get("status") or {}).get("containerStatuses") or ()]
    return any("running" in state or "terminated" in state for state in states)


def source(pod: Object) -> Source:
    """The log of a pod that has one container."""
    statuses = pod["status"].get("containerStatuses") or ()
    start = sum(int(each.get("restartCount", 0)) for each in statuses)
    return Source(role_and_index(pod), log_path(pod), (pod["metadata"].get("uid", pod["metadata"]["name"]), str(start)))


def log_path(pod: Object) -> str:
    """The path of a pod's log in the API."""
    about = pod["metadata"]
    return f"/api/v1/namespaces/{about['namespace']}/pods/{about['name']}/log"


@dataclass(frozen=True)
class Source:
    """A container that has started."""

    role_and_index: tuple[str, int]
    """Of its pod: role and index."""
    path: str
    """Of its log."""
    key: tuple[str, str]
    """The pod's uid, and which start of which container; a restarted container is another source."""
    container: str = ""
    """Empty if the pod has one."""
    of_argo: bool = False
    """Whether Argo's executor writes lines of its own to it, which are left out."""

    def read(self, api: Kube, query: Mapping[str, str]) -> list[str]:
        """Its lines so far."""
        found = api.text(self.path, **self._query(query)).splitlines()
        return [line for line in found if self._is_shown(line)]

    def follow(self, api: Kube, query: Mapping[str, str]) -> Iterator[str]:
        """Its lines as they come, until the container ends."""
        found = api.lines(self.path, **self._query(query), follow="true")
        return (line for line in found if self._is_shown(line))

    def _query(self, query: Mapping[str, str]) -> dict[str, str]:
        return {**query, **({"container": self.container} if self.container else {})}

    def _is_shown(self, line: str) -> bool:
        return not (self.of_argo and is_of_argo(line))
