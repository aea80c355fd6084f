"""Whether a stack's agents work: what their Leases and CronJobs say, and what it means where one does not."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tensorplane.components.agent.health import FAILING_MINUTES, OUTAGES, RENEWED, lease_name
from tensorplane.components.base.labels import AGENT
from tensorplane.core.errors import UserError
from tensorplane.core.kube import Kube
from tensorplane.core.times import age

Object = dict[str, Any]

COLUMNS = ("namespace", "agent", "program", "state", "since", "last turn")
WORKING, FAILING, DEAD, WAITING = "Working", "Failing", "Dead", "Waiting"
_SELECTOR = {"labelSelector": AGENT}
_DEAD_AFTER = datetime.timedelta(seconds=60)
"""Without a renewal of the Lease, which a living agent renews every 5 seconds. Clocks may differ by some seconds."""
_STARTS_WITHIN = datetime.timedelta(minutes=2)


@dataclass(frozen=True)
class Agents:
    """The API's answers about agents. A stack that an earlier version deployed has none with the label."""

    deployments: list[Object] = field(default_factory=list)
    leases: list[Object] = field(default_factory=list)
    cron_jobs: list[Object] = field(default_factory=list)


def gather(api: Kube) -> Agents:
    """Asks a cluster. Who may not list Leases, which Kubernetes' role `view` does not have, sees no agents."""
    try:
        return Agents(
            api.items("/apis/apps/v1/deployments", **_SELECTOR),
            api.items("/apis/coordination.k8s.io/v1/leases", **_SELECTOR),
            api.items("/apis/batch/v1/cronjobs", **_SELECTOR),
        )
    except UserError:
        return Agents()


@dataclass(frozen=True)
class State:
    """One agent."""

    namespace: str
    name: str
    program: str
    state: str
    since: datetime.datetime | None
    """Since when its present pod acts."""
    worked: datetime.datetime | None
    """When it last did its work."""
    why: str = ""
    """Why it does not work; empty if it does."""
    remedy: str = ""

    def line(self, now: datetime.datetime) -> str:
        """What it means that it does not work."""
        outage = OUTAGES.get(self.program, "what it does is not done")
        meaning = f"{outage[0].upper()}{outage[1:]}"
        return f"{self.name}: {self.why}, last turn {ago(self.worked, now)}. {meaning}. {self.remedy}"


def states(found: Agents, now: datetime.datetime) -> list[State]:
    """Of each agent, by namespace and name."""
    leases = {_key(one): one for one in found.leases}
    every = [_of_deployment(one, leases, now) for one in found.deployments]
    every += [_of_cron_job(one, now) for one in found.cron_jobs]
    return sorted(every, key=lambda one: (one.namespace, one.name))


def rows(found: Agents, now: datetime.datetime) -> Iterator[tuple[str, ...]]:
    """The table's, under `COLUMNS`."""
    for one in states(found, now):
        since = ago(one.since, now) if one.since else ""
        yield one.namespace, one.name, one.program, one.state, since, ago(one.worked, now)


def lines(found: Agents, now: datetime.datetime) -> Iterator[str]:
    """Of each agent that does not work."""
    yield from (one.line(now) for one in states(found, now) if one.why)


def _of_deployment(deployment: Object, leases: dict[tuple[str, str], Object], now: datetime.datetime) -> State:
    namespace, name = _key(deployment)
    program = deployment["metadata"]["labels"][AGENT]
    restart = f"Restart it with: kubectl -n {namespace} rollout restart deployment {name}"
    lease = leases.get((namespace, lease_name(name)))
    if lease is None:
        why, remedy = f"its Lease {lease_name(name)} is gone", "Create it again with: pulumi up --refresh"
        return State(namespace, name, program, DEAD, None, None, why, remedy)
    spec = lease.get("spec") or {}
    worked, since = _moment(spec.get("renewTime")), _moment(spec.get("acquireTime"))
    renewed = _moment((lease["metadata"].get("annotations") or {}).get(RENEWED))
    is_new = now - _created(deployment) < _STARTS_WITHIN
    if not spec.get("holderIdentity") or renewed is None or now - renewed >= _DEAD_AFTER:
        if is_new:
            return State(namespace, name, program, WAITING, None, worked)
        return State(namespace, name, program, DEAD, None, worked, "dead", restart)
    if worked is None or now - worked >= datetime.timedelta(minutes=FAILING_MINUTES):
        look = f"See why with: kubectl -n {namespace} logs deployment/{name}"
        return State(namespace, name, program, FAILING, since, worked, "it runs, and its turns fail", look)
    return State(namespace, name, program, WORKING, since, worked)


def _of_cron_job(cron_job: Object, now: datetime.datetime) -> State:
    namespace, name = _key(cron_job)
    program, status = cron_job["metadata"]["labels"][AGENT], cron_job.get("status") or {}
    began, worked = _moment(status.get("lastScheduleTime")), _moment(status.get("lastSuccessfulTime"))
    if cron_job["spec"].get("suspend"):
        remedy = f'Resume it with: kubectl -n {namespace} patch cronjob {name} -p \'{{"spec":{{"suspend":false}}}}\''
        return State(namespace, name, program, DEAD, None, worked, "suspended", remedy)
    if began is None or status.get("active"):
        return State(namespace, name, program, WORKING if worked else WAITING, None, worked)
    # The controller of CronJobs may not know yet that a Job has ended.
    if (worked is None or worked < began) and now - began >= _DEAD_AFTER:
        look = f"See why with: kubectl -n {namespace} get jobs, and the logs of its pods"
        return State(namespace, name, program, FAILING, None, worked, "its last run failed", look)
    return State(namespace, name, program, WORKING, None, worked)


def ago(then: datetime.datetime | None, now: datetime.datetime) -> str:
    """How long ago that was; `never` without a time."""
    return f"{age(then, now)} ago" if then else "never"


def _key(thing: Object) -> tuple[str, str]:
    return thing["metadata"]["namespace"], thing["metadata"]["name"]


def _created(thing: Object) -> datetime.datetime:
    return datetime.datetime.fromisoformat(thing["metadata"]["creationTimestamp"])


def _moment(text: str | None) -> datetime.datetime | None:
    return datetime.datetime.fromisoformat(text) if text else None
