"""`tensorplane top` from what a real Kueue said: who has which cards, and the history that Workloads keep."""

from __future__ import annotations

import copy
import io
import json
import os
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from rich.console import Console

from tensorplane.agents.lost_nodes import leaving
from tensorplane.cli.commands.top import command as top
from tensorplane.cli.commands.top import history, rows
from tensorplane.cli.commands.top.history import Point
from tensorplane.cli.kueue import workloads as queue_work
from tensorplane.cli.kueue.objects import ClusterObjects, gather
from tensorplane.components.catalog import GPU_RESOURCE
from tensorplane.core.errors import UserError
from tests.support.goldens import GOLDEN
from tests.unit.cli.kueue.recorded import NOW, recorded

FACTS, _ = recorded("kueue_waiting")
WORKS = queue_work.works(FACTS)


def borrowing(facts: ClusterObjects) -> ClusterObjects:
    """The recording with A100s of production at research's jobs instead."""
    workloads = copy.deepcopy(list(facts.workloads))
    for one in workloads:
        if "high2" in one["metadata"]["name"]:
            one["status"]["admission"]["clusterQueue"] = "tensorplane-dev-research"
    return replace(facts, workloads=workloads)


@pytest.mark.parametrize("width", [80, 120])
def test_the_recording_is_shown_as_recorded(width: int) -> None:
    output = io.StringIO()
    points = history.history(WORKS, NOW - timedelta(hours=1), NOW)
    top.show(rows.of(FACTS, WORKS), points, ["GET /x: forbidden"], Console(file=output, width=width, highlight=False))
    shown = "".join(f"{line.rstrip()}\n" for line in output.getvalue().splitlines())
    path = GOLDEN / f"top-{width}.txt"
    if os.environ.get("UPDATE_GOLDEN"):
        path.write_text(shown)
    assert shown == path.read_text()
    assert max(map(len, shown.splitlines())) <= width


@pytest.mark.parametrize(
    ("notes", "line"), [([], "The stack has no queues"), (["forbidden"], "You have no permission")]
)
def test_without_queues_it_says_why_there_is_no_table(notes: list[str], line: str) -> None:
    output = io.StringIO()
    top.show(rows.of(ClusterObjects("ml"), []), [Point(NOW, 0, 0)], notes, Console(file=output, width=80))
    assert output.getvalue().startswith(line)


def test_what_one_queue_borrows_the_other_lends() -> None:
    facts = borrowing(FACTS)
    shares = {(s.queue, s.flavor): s for s in rows.of(facts, queue_work.works(facts)).shares}
    research, production = shares["research", "a100-80gb"], shares["production", "a100-80gb"]
    assert (research.used, research.guaranteed, research.borrowed, research.lent) == (8, 4, 4, 0)
    assert (production.used, production.guaranteed, production.borrowed, production.lent) == (0, 4, 0, 4)
    assert not production.several


def test_of_several_lenders_each_lends_so_much_at_most() -> None:
    facts = borrowing(FACTS)
    other = copy.deepcopy(next(q for q in facts.cluster_queues if q["metadata"]["name"].endswith("production")))
    other["metadata"] |= {"name": "tensorplane-dev-batch", "labels": {}}
    facts = replace(facts, cluster_queues=[*facts.cluster_queues, other])
    shares = {(s.queue, s.flavor): s for s in rows.of(facts, queue_work.works(facts)).shares}
    found = shares["production", "a100-80gb"], shares["tensorplane-dev-batch", "a100-80gb"]
    assert [(share.lent, share.several) for share in found] == [(4, True), (4, True)]


def test_kinds_go_from_old_to_new_with_the_nodes_that_are_ready() -> None:
    nodes = copy.deepcopy(list(FACTS.nodes))
    next(node for node in nodes if node["metadata"]["name"] == "turing-0")["spec"]["unschedulable"] = True
    flavors = rows.of(replace(FACTS, nodes=nodes), WORKS).flavors
    assert [(one.name, one.nodes, one.ready, one.capacity, one.guaranteed, one.used) for one in flavors][1:] == [
        ("t4", 2, 1, 4, 8, 8),
        ("a100-80gb", 2, 2, 8, 8, 8),
        ("h100-80gb", 2, 2, 8, 8, 8),
    ]


def test_unhealthy_gpus_and_leaving_nodes_are_named_and_counted() -> None:
    nodes = copy.deepcopy(list(FACTS.nodes))
    leaves, broken = (next(node for node in nodes if node["metadata"]["name"] == f"turing-{index}") for index in (0, 1))
    leaves["spec"]["taints"] = [{"key": "aws-node-termination-handler/spot-itn"}, {"key": leaving.TAINT}]
    broken["status"] |= {"capacity": {GPU_RESOURCE: "4"}, "allocatable": {GPU_RESOURCE: "3", "cpu": "8"}}
    found = rows.of(replace(FACTS, nodes=nodes), WORKS)
    assert found.troubles == (
        "Node turing-0 is a spot instance that EC2 reclaims in two minutes.",
        "1 of 4 GPUs of node turing-1 is unhealthy: no pod gets it.",
    )
    t4 = next(one for one in found.flavors if one.name == "t4")
    assert (t4.nodes, t4.ready, t4.capacity) == (2, 1, 3)
    output = io.StringIO()
    top.show(found, [], [], Console(file=output, width=120))
    assert "\n".join(found.troubles) in output.getvalue()
    leaves["spec"] = {"unschedulable": True}
    assert rows.of(replace(FACTS, nodes=[leaves]), WORKS).troubles == (), "the number of ready nodes shows it"


def test_a_flavor_without_labels_has_the_nodes_of_no_other() -> None:
    flavors = copy.deepcopy(list(FACTS.flavors))
    next(one for one in flavors if one["metadata"]["name"].endswith("cpu"))["spec"].pop("nodeLabels")
    plain = {"metadata": {"name": "own", "labels": {}}, "spec": {}, "status": {"allocatable": {"cpu": "8"}}}
    found = rows.of(replace(FACTS, flavors=flavors, nodes=[*FACTS.nodes, plain]), WORKS).flavors
    # Also the embedded cluster's own node, whose label no flavor asks for.
    assert next(one.nodes for one in found if one.name.endswith("cpu")) == 2


def test_without_gpus_only_waiting_jobs_are_drawn() -> None:
    drawn = "\n".join(history.draw_history([Point(NOW - timedelta(hours=1), 2, 0), Point(NOW, 2, 0)], 80))
    assert "GPUs in use" not in drawn
    assert "jobs waiting" in drawn


def test_namespaces_tell_what_their_jobs_have_and_want() -> None:
    own, speech, vision = rows.of(FACTS, WORKS).namespaces
    assert (own.name, own.running, own.waiting, own.wanted) == ("tensorplane-dev", 4, 3, 20)
    assert dict(own.used) == {"t4": 8, "a100-80gb": 8, "h100-80gb": 8}
    assert [(each.name, each.waiting, each.wanted) for each in (speech, vision)] == [("speech", 1, 4), ("vision", 1, 4)]


def work(created: int, gpus: int = 4, ran: int = 0, **since: int) -> queue_work.Work:
    """A Workload that came at a minute; its conditions since other minutes, those that hold."""

    def at(minute: int) -> str:
        return (NOW - timedelta(hours=1) + timedelta(minutes=minute)).isoformat()

    kinds = {"reserved": "QuotaReserved", "evicted": "Evicted", "finished": "Finished"}
    resources = {"requests": {GPU_RESOURCE: str(gpus)}}
    thing: dict[str, Any] = {
        "metadata": {"name": "x", "namespace": "n", "uid": "x", "creationTimestamp": at(created)},
        "spec": {"podSets": [{"name": "w", "template": {"spec": {"containers": [{"resources": resources}]}}}]},
        "status": {
            "accumulatedPastExecutionTimeSeconds": ran,
            "conditions": [
                {"type": kinds[name], "status": "True", "lastTransitionTime": at(minute)}
                for name, minute in since.items()
            ],
        },
    }
    return queue_work.works(ClusterObjects("n", workloads=[thing]))[0]


def shape(*works: queue_work.Work) -> list[tuple[int, int, int]]:
    """Minute, waiting jobs and GPUs of each point."""
    start = NOW - timedelta(hours=1)
    points = history.history(works, start, NOW)
    return [(round((point.at - start).total_seconds() / 60), point.waiting, point.gpus) for point in points]


def test_a_job_waits_then_holds_gpus_until_it_is_done() -> None:
    assert shape(work(10, reserved=20, finished=50)) == [(0, 0, 0), (10, 1, 0), (20, 0, 4), (50, 0, 0), (60, 0, 0)]
    assert shape(work(10, reserved=20)) == [(0, 0, 0), (10, 1, 0), (20, 0, 4), (60, 0, 4)]
    assert shape(work(10)) == [(0, 0, 0), (10, 1, 0), (60, 1, 0)]


def test_a_job_that_was_stopped_held_its_gpus_before_and_waits_again() -> None:
    assert shape(work(10, ran=600, evicted=30)) == [(0, 0, 0), (10, 1, 0), (20, 0, 4), (30, 1, 0), (60, 1, 0)]


def test_what_began_before_the_plot_is_there_from_its_start_and_what_ended_before_is_not() -> None:
    assert shape(work(-30, reserved=-20), work(-30, reserved=-20, finished=-10)) == [(0, 0, 4), (60, 0, 4)]


def test_jobs_add_up() -> None:
    assert shape(work(10, reserved=20), work(20, gpus=8, reserved=20)) == [
        (0, 0, 0),
        (10, 1, 0),
        (20, 0, 12),
        (60, 0, 12),
    ]


def test_programs_get_every_fact() -> None:
    at = datetime(2026, 11, 21, tzinfo=UTC)
    told = json.loads(json.dumps(top.plain(rows.of(FACTS, WORKS), [Point(at, 1, 2)], ["note"])))
    assert told["history"] == [{"at": "2026-11-21T00:00:00+00:00", "waiting": 1, "gpus": 2}]
    assert [queue["name"] for queue in told["queues"]] == ["production", "research"]
    assert told["notes"] == ["note"]


@pytest.mark.parametrize("hours", ["x", "-1", "1e9", "nan"])
def test_hours_that_are_none_are_one_line(hours: str) -> None:
    with pytest.raises(UserError, match=f"--history: '{hours}' is not a number of hours"):
        top.run(top.TopOptions("dev", hours=hours), Console())


class Api:
    """An API server with answers by path; what is not there is refused."""

    def __init__(self, answers: dict[str, Any]) -> None:
        self._answers = answers

    def get(self, path: str) -> Any:
        return self._answers.get(path)

    def items(self, path: str, **_: str) -> Any:
        if path not in self._answers:
            raise UserError(f"GET {path}: forbidden")
        return self._answers[path]


def test_who_may_not_see_the_whole_cluster_sees_the_namespaces() -> None:
    kueue = "/apis/kueue.x-k8s.io/v1beta2"
    queues = [{"metadata": {"name": "q", "namespace": each}, "spec": {"clusterQueue": "c"}} for each in ("ml", "team")]
    answers: dict[str, Any] = {kueue: {}, f"{kueue}/namespaces/team/workloads": [{"a": 1}]}
    everywhere = gather(Api({**answers, f"{kueue}/localqueues": queues}), "ml")  # type: ignore[arg-type]
    assert (everywhere.namespaces, everywhere.workloads) == (("ml", "team"), [{"a": 1}])
    assert "GET /api/v1/nodes: forbidden" in everywhere.notes
    inside = Api({**answers, f"{kueue}/namespaces/ml/localqueues": queues[:1]})
    own = gather(inside, "ml", also="team")  # type: ignore[arg-type]
    assert (own.namespaces, own.workloads) == (("ml",), [{"a": 1}])
    with pytest.raises(UserError, match="no Kueue that serves"):
        gather(Api({}), "ml")  # type: ignore[arg-type]
