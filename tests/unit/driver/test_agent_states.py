"""`make status` about agents: which work, and what it means that one does not."""

from __future__ import annotations

import datetime
import io
from typing import Any

import pytest
from rich.console import Console

from tensorplane.components.agent.health import OUTAGES
from tensorplane.core.errors import UserError
from tensorplane.core.kube import Kube
from tensorplane.driver import agent_states, status_tables
from tensorplane.driver.agent_states import DEAD, FAILING, WAITING, WORKING, Agents
from tensorplane.driver.status_tables import ClusterObjects
from tests.support.rendering import PROJECT

NOW = datetime.datetime(2026, 11, 21, 12, 0, tzinfo=datetime.UTC)
Object = dict[str, Any]


def _at(seconds: float) -> str:
    """So many seconds ago, as the API server writes it."""
    return (NOW - datetime.timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _about(name: str, program: str, created: float = 7200) -> Object:
    labels = {"tensorplane.dev/agent": program}
    return {"name": name, "namespace": "ml", "labels": labels, "creationTimestamp": _at(created)}


def _deployment(created: float = 7200) -> Object:
    return {"metadata": _about("queue.quota-return", "quota_return", created)}


def _lease(renewed: float | None, worked: float, holder: str = "pod-1") -> Object:
    about = _about("agent.queue.quota-return", "quota_return")
    if renewed is None:
        return {"metadata": about}
    spec = {"holderIdentity": holder, "acquireTime": _at(3600), "renewTime": _at(worked)}
    annotations = {"tensorplane.dev/renewed": _at(renewed)}
    return {
        "metadata": {**about, "annotations": annotations},
        "spec": {key: value for key, value in spec.items() if value},
    }


def _cron_job(began: float | None = None, worked: float | None = None, **spec: Any) -> Object:
    times = {"lastScheduleTime": began, "lastSuccessfulTime": worked}
    status = {key: _at(seconds) for key, seconds in times.items() if seconds is not None}
    return {"metadata": _about("models-hourly", "snapshots"), "spec": spec, "status": status}


@pytest.mark.parametrize(
    ("found", "state", "last"),
    [
        (Agents([_deployment()], [_lease(3, 12)]), WORKING, "12 s ago"),
        (Agents([_deployment()], [_lease(3, 720)]), FAILING, "12 min ago"),
        (Agents([_deployment()], [_lease(720, 721)]), DEAD, "12 min ago"),
        (Agents([_deployment()], [_lease(3, 12, holder="")]), DEAD, "12 s ago"),
        (Agents([_deployment()], [_lease(None, 0)]), DEAD, "never"),
        (Agents([_deployment()]), DEAD, "never"),
        (Agents([_deployment(created=30)], [_lease(None, 0)]), WAITING, "never"),
        (Agents(cron_jobs=[_cron_job()]), WAITING, "never"),
        (Agents(cron_jobs=[_cron_job(began=3600, worked=3590)]), WORKING, "59 min ago"),
        (Agents(cron_jobs=[_cron_job(began=3600, worked=86400)]), FAILING, "24 h ago"),
        (Agents(cron_jobs=[_cron_job(began=3600)]), FAILING, "never"),
        (Agents(cron_jobs=[_cron_job(began=20, worked=3590)]), WORKING, "59 min ago"),
        (Agents(cron_jobs=[_cron_job(began=3600, worked=3590, suspend=True)]), DEAD, "59 min ago"),
    ],
)
def test_an_agent_works_if_it_has_done_its_work(found: Agents, state: str, last: str) -> None:
    (one,) = agent_states.states(found, NOW)
    ((_, _, _, shown, _, worked),) = agent_states.rows(found, NOW)
    assert (shown, worked) == (state, last)
    assert bool(one.why) == (state in (DEAD, FAILING))


def _printed(agents: Agents) -> str:
    drawn = io.StringIO()
    facts = ClusterObjects([], [], [], [], [], agents=agents)
    Console(width=100, file=drawn).print(status_tables.render(facts, NOW, embedded=True))
    return drawn.getvalue()


def test_what_a_dead_one_means_is_said() -> None:
    dead = Agents([_deployment()], [_lease(720, 721)])
    shown = [" ".join(line.split()) for line in _printed(dead).splitlines() if line.strip()]
    assert shown == [
        "Agents",
        "namespace agent program state since last turn",
        "ml queue.quota-return quota_return Dead 12 min ago",
    ]
    assert list(agent_states.lines(dead, NOW)) == [
        f"queue.quota-return: dead, last turn 12 min ago. Q{OUTAGES['quota_return'][1:]}. Restart it with: "
        "kubectl -n ml rollout restart deployment queue.quota-return",
    ]


def test_a_stack_of_an_earlier_version_has_no_table() -> None:
    assert _printed(Agents()) == ""


def test_who_may_not_list_leases_sees_the_rest() -> None:
    class Refusing(Kube):
        def __init__(self) -> None:
            pass

        def items(self, path: str, **query: str) -> list[Object]:
            if "leases" in path:
                raise UserError(f"GET {path}: leases.coordination.k8s.io is forbidden")
            return [_deployment()]

    assert agent_states.gather(Refusing()) == Agents()


def test_the_outage_of_each_agent_is_known() -> None:
    assert OUTAGES.keys() == {path.parent.name for path in PROJECT.glob("agents/*/__main__.py")}
