"""`tensorplane why` from what a real Kueue said: verdicts, who holds what, what would let a job start."""

from __future__ import annotations

import copy
import io
import os
from dataclasses import replace
from typing import Any

import pytest
from rich.console import Console

from tensorplane.agents.lost_nodes import cluster
from tensorplane.cli.commands.top import rows
from tensorplane.cli.commands.why import answer as why_answer
from tensorplane.cli.commands.why import command as why_command
from tensorplane.cli.commands.why import pods as why_pods
from tensorplane.cli.commands.why import reasons, shortage, waiting
from tensorplane.cli.kueue import flavor_fit, quota_tree, unqueued
from tensorplane.cli.kueue import workloads as queue_work
from tensorplane.cli.kueue.objects import ClusterObjects, JobObjects
from tensorplane.cli.kueue.workloads import Pods
from tensorplane.cli.training_jobs.find import get_job_set
from tensorplane.components.catalog import GPU_RESOURCE
from tensorplane.core.errors import UserError
from tests.support.goldens import GOLDEN
from tests.unit.cli.kueue.recorded import observed, recorded

WAITING, WAITING_DETAILS = recorded("kueue_waiting")
HELD, HELD_DETAILS = recorded("kueue_without_a_node")
JOBS = ("low1", "low3", "low4", "low5", "high3", "big", "lost", "noclass", "free", "search-1cb7c08e")


def answer(
    job: str, facts: ClusterObjects = WAITING, details: dict[str, JobObjects] = WAITING_DETAILS
) -> why_answer.Answer:
    name = job if "-" in job else f"{job}-aaaa"
    return reasons.answer(observed(facts, details, name))


def test_the_answers_are_as_recorded() -> None:
    output = io.StringIO()
    console = Console(file=output, width=80, highlight=False)
    for job in JOBS:
        why_command.show(answer(job), console)
        console.print()
    for job in ("high3", "low4"):
        why_command.show(answer(job, HELD, HELD_DETAILS), console)
        console.print()
    told = "".join(f"{line.rstrip()}\n" for line in output.getvalue().splitlines())
    path = GOLDEN / "why.txt"
    if os.environ.get("UPDATE_GOLDEN"):
        path.write_text(told)
    assert told == path.read_text()


@pytest.mark.parametrize(
    ("job", "state"),
    [("low1", "running"), ("low3", "waiting"), ("big", "stuck"), ("lost", "stuck"), ("noclass", "stuck"),
     ("free", "admitted"), ("search-1cb7c08e", "finished")],
)  # fmt: skip
def test_programs_get_the_state(job: str, state: str) -> None:
    assert answer(job).state == state


def changed(facts: ClusterObjects, job: str, **status: Any) -> ClusterObjects:
    """The recording with other conditions of a job's Workload."""
    workloads = copy.deepcopy(list(facts.workloads))
    (one,) = (w for w in workloads if w["metadata"]["ownerReferences"][0]["name"] == f"{job}-aaaa")
    one["status"].update(status)
    return replace(facts, workloads=workloads)


def _condition(kind: str, reason: str, message: str = "") -> dict[str, str]:
    then = "2026-11-21T21:54:00Z"
    return {"type": kind, "status": "True", "reason": reason, "message": message, "lastTransitionTime": then}


def test_pods_that_were_not_ready_in_time_say_so_and_when_it_is_tried_again() -> None:
    late = changed(
        WAITING,
        "low5",
        conditions=[_condition("Evicted", "PodsReadyTimeout", "Exceeded the PodsReady timeout")],
        requeueState={"count": 2, "requeueAt": "2026-11-21T21:56:30Z"},
    )
    lines = answer("low5", late).lines
    assert lines[0] == (
        "It was evicted at 2026-11-21 21:54:00 UTC (30 s ago), the 2nd time: not all of its pods were ready in time."
    )
    assert lines[-1] == "Kueue retries it in 2 min, at 21:56:30 UTC."


def test_a_job_that_is_tried_no_more_says_why() -> None:
    conditions = [_condition("Evicted", "Deactivated", "exceeding the maximum number of re-queuing retries")]
    given_up = changed(WAITING, "low5", conditions=conditions)
    for one in given_up.workloads:
        one["spec"]["active"] = "low5" not in one["metadata"]["name"]
    found = answer("low5", given_up)
    assert found.state == "stuck"
    assert found.conclusion.endswith(
        "Kueue no longer tries to admit it: exceeding the maximum number of re-queuing retries"
    )


def test_a_job_that_waits_again_says_what_has_moved_it() -> None:
    about = {"metadata": {"name": "low5-aaaa-worker-0-1-947rr", "namespace": WAITING.namespace}}
    event = cluster.event(about, "NodeLost", "ended: node gpu-7 has sent no heartbeat for 41 s", "2026-11-21T21:54:00Z")
    moved = replace(WAITING_DETAILS["low5-aaaa"], events=[event], job_set="low5-aaaa-")
    found = answer("low5", details={**WAITING_DETAILS, "low5-aaaa": moved})
    assert found.state == "waiting"
    assert found.lines[-1] == "low5-aaaa-worker-0-1-947rr was ended: node gpu-7 has sent no heartbeat for 41 s."


def test_who_stopped_it_may_be_gone() -> None:
    gone = replace(WAITING, workloads=[w for w in WAITING.workloads if "high" not in w["metadata"]["name"]])
    assert (
        answer("low4", gone)
        .lines[0]
        .endswith("a job that no longer exists reclaimed quota that is guaranteed to its queue.")
    )


def test_without_kueues_own_list_the_order_is_by_priority_and_time() -> None:
    found = observed(WAITING, WAITING_DETAILS, "low5-aaaa")
    assert found.work is not None
    names = [work.name for work in waiting.in_line(found.work, found.works, JobObjects())]
    assert names == ["low3-aaaa", "low4-aaaa", "low5-aaaa", "big-aaaa"]
    urgent = changed(WAITING, "low5")
    next(w for w in urgent.workloads if "low5" in w["metadata"]["name"])["spec"]["priority"] = 101
    works = queue_work.works(urgent)
    work = next(each for each in works if each.name == "low5-aaaa")
    assert waiting.in_line(work, works, JobObjects())[0] is work


def test_who_may_not_see_the_queues_hears_what_kueue_says() -> None:
    found = answer("low4", replace(WAITING, cluster_queues=(), flavors=(), notes=("GET clusterqueues: forbidden",)))
    assert found.state == "waiting"
    assert found.lines[-1].startswith("Kueue says: couldn't assign flavors to pod set worker: insufficient quota")


def test_a_strict_queue_says_what_it_waits_behind() -> None:
    queues = copy.deepcopy(list(WAITING.cluster_queues))
    for queue in queues:
        queue["spec"]["queueingStrategy"] = "StrictFIFO"
    lines = answer("low5", replace(WAITING, cluster_queues=queues)).lines
    assert lines[1].startswith("The queue's order is strict")
    assert (
        lines[2] == "Jobs of other queues that have a higher priority and wait for the same flavors:"
        " high3-aaaa (queue production)."
    )


def borrowed_by_research(**held: str) -> ClusterObjects:
    """The A100 that are guaranteed to queue production are held by a job of queue research."""
    given = {
        "name": "worker",
        "flavors": dict.fromkeys((GPU_RESOURCE, *held), "tensorplane-dev-a100-80gb"),
        "resourceUsage": {GPU_RESOURCE: "4", **held},
    }
    admission = {"clusterQueue": "tensorplane-dev-research", "podSetAssignments": [given]}
    return changed(WAITING, "high2", admission=admission)


def test_what_others_borrow_of_a_queues_own_is_taken_back() -> None:
    assert (
        "Queue production is guaranteed 4 a100-80gb and holds 0: Kueue preempts jobs that borrow the rest."
        in answer("high3", borrowed_by_research()).after
    )


def test_a_job_with_more_cores_than_come_with_its_gpus_hears_that_nothing_is_taken_back_for_it() -> None:
    facts = borrowed_by_research(cpu="2")
    queues = copy.deepcopy(list(facts.cluster_queues))
    for resource in (
        resource
        for queue in queues
        for flavor in queue["spec"]["resourceGroups"][0]["flavors"]
        if flavor["name"] == "tensorplane-dev-a100-80gb"
        for resource in flavor["resources"]
        if resource["name"] == "cpu"
    ):
        resource["nominalQuota"] = resource["borrowingLimit"] = "1500m"
    assert (
        "Queue production is guaranteed 4 a100-80gb and holds 0, but with this job it would hold 2 CPUs, 1.5 of them "
        "guaranteed: Kueue preempts no jobs for it; lower what it requests."
    ) in answer("high3", replace(facts, cluster_queues=queues)).after


def test_the_room_of_nested_cohorts_and_loans_is_kueues() -> None:
    place = ("f", GPU_RESOURCE)

    def node(
        name: str, around: str | None, nominal: float, borrows: float | None, lends: float | None
    ) -> quota_tree.Node:
        return quota_tree.Node(name, around, {place: quota_tree.Quota(nominal, borrows, lends)}, ("f",))

    queues = {
        "a": node("a", "inner", 2, 3, None),
        "b": node("b", "outer", 8, None, 5),
        "c": node("c", None, 4, None, None),
    }
    cohorts = {"inner": node("inner", "outer", 0, None, None), "outer": node("outer", None, 0, None, None)}
    queues["d"] = node("d", "outer", 0, None, None)
    empty = quota_tree.QuotaTree(queues, cohorts, ())
    # b lends 5 of its 8: a takes 3 of them at most, d all of them and the 2 of a.
    assert [empty.most(name, place) for name in "abcd"] == [5, 10, 4, 7]
    assert empty.sharing("a") == {"a", "b", "d"}
    assert empty.sharing("c") == {"c"}


def test_pods_of_one_job_do_not_share_the_same_room() -> None:
    facts = replace(WAITING, workloads=[w for w in WAITING.workloads if "high2" not in w["metadata"]["name"]])
    facts = changed(facts, "high3")
    spec = next(w for w in facts.workloads if "high3" in w["metadata"]["name"])["spec"]
    works = queue_work.works(facts)
    alone = next(each for each in works if each.name == "high3-aaaa")
    assert shortage.short(alone, quota_tree.of(facts, works), facts.flavors) is None
    spec["podSets"].append({**spec["podSets"][0], "name": "second"})
    works = queue_work.works(facts)
    both = next(each for each in works if each.name == "high3-aaaa")
    found = shortage.short(both, quota_tree.of(facts, works), facts.flavors)
    assert found is not None
    assert (found.pods.role, {option.needed for option in found.options}) == ("second", {4, 8})


def test_a_flavor_lets_in_what_selects_and_tolerates_it() -> None:
    flavor = {"nodeLabels": {"card": "t4"}, "nodeTaints": [{"key": "gpu", "value": "yes", "effect": "NoSchedule"}]}
    exists = {"key": "gpu", "operator": "Exists"}

    def inside(*, selector: dict[str, str] | None = None, terms: tuple[Any, ...] = (), tolerates: bool = True) -> bool:
        pods = Pods("worker", 1, {}, selector or {}, (exists,) if tolerates else (), terms)
        return flavor_fit.lets_in(flavor, pods, {"card", "shared"})

    assert inside()
    assert not inside(tolerates=False)
    assert inside(selector={"card": "t4", "zone": "a"})
    assert not inside(selector={"card": "h100"})
    assert not inside(selector={"shared": "mps"})
    for operator, expected in (("In", True), ("NotIn", False), ("Exists", True), ("DoesNotExist", False)):
        term = {"matchExpressions": [{"key": "card", "operator": operator, "values": ["t4"]}]}
        assert inside(terms=(term,)) is expected
        assert inside(terms=(term, {}))


def test_jobs_that_must_end_together_are_one_set() -> None:
    facts = replace(changed(WAITING, "low5"), flavors=copy.deepcopy(WAITING.flavors))
    low5 = next(w for w in facts.workloads if "low5" in w["metadata"]["name"])
    low5["spec"]["podSets"][0]["count"] = 2
    for flavor in ("t4", "h100-80gb"):
        for each in facts.flavors:
            if each["metadata"]["name"] == f"tensorplane-dev-{flavor}":
                each["spec"] = {"nodeTaints": [{"key": "off", "effect": "NoSchedule"}]}
    work = next(each for each in queue_work.works(facts) if each.name == "low5-aaaa")
    found = shortage.short(work, quota_tree.of(facts, queue_work.works(facts)), facts.flavors)
    assert found is not None
    (option,) = (option for option in found.options if option.flavor.endswith("a100-80gb"))
    assert [sorted(each.name for each in several) for several in option.ends] == [["high2-aaaa", "low2-aaaa"]]


def test_pods_say_what_they_wait_for() -> None:
    def pod(name: str, node: str | None, **status: Any) -> dict[str, Any]:
        return {"metadata": {"name": name, "uid": name}, "spec": {"nodeName": node} if node else {}, "status": status}

    pulling = {"image": "a:1", "state": {"waiting": {"reason": "ImagePullBackOff", "message": "no such image"}}}
    ready = {"conditions": [{"type": "Ready", "status": "True"}], "phase": "Running"}
    pods = [
        pod("a", None, phase="Pending"),
        pod("b", "n", phase="Pending", containerStatuses=[pulling]),
        pod("c", "n", **ready),
        pod("d", "n", phase="Running"),
        pod("e", None, phase="Succeeded"),
    ]
    event = {"involvedObject": {"uid": "a"}, "reason": "TriggeredScaleUp", "message": "pod triggered scale-up: 0->1"}
    assert why_pods.reasons(JobObjects(pods, [event])) == (
        "1 of 4 pods have no node yet: not scheduled yet.",
        "Nodes are being added: pod triggered scale-up: 0->1",
        "1 of 4 pods have a node but do not run: image a:1 cannot be pulled: ImagePullBackOff: no such image.",
        "1 of 4 pods have a node but do not run: Running, not ready.",
    )
    assert why_pods.reasons(JobObjects()) == ("It has no pods yet.",)


def test_pods_that_the_api_server_refuses_are_reported_with_its_reason() -> None:
    def event(job: str, at: str, why: str) -> dict[str, Any]:
        name = f"{job}-worker-0"
        message = f'Error creating: pods "{name}-0-x1" is forbidden: {why}'
        about = {"involvedObject": {"kind": "Job", "name": name}, "lastTimestamp": at}
        return {**about, "reason": "FailedCreate", "message": message}

    events = [
        event("sweep-1", "2026-11-21T21:54:02Z", "violates PodSecurity: seLinuxOptions"),
        event("sweep-1", "2026-11-21T21:54:01Z", "exceeded quota: gpus"),
        event("other", "2026-11-21T21:54:03Z", "another job's"),
    ]
    refused = ("The API server refuses its pods: violates PodSecurity: seLinuxOptions.",)
    assert why_pods.reasons(JobObjects((), events, "sweep-1-")) == refused
    alive = {"metadata": {"name": "a", "uid": "a", "creationTimestamp": "2026-11-21T21:55:00Z"}, "spec": {}}
    assert why_pods.reasons(JobObjects([alive], events, "sweep-1-")) == ("Its pod has no node yet: not scheduled yet.",)


def test_taints_that_keep_a_waiting_job_off_are_named() -> None:
    flavors = copy.deepcopy(list(WAITING.flavors))
    for each in flavors:
        if each["metadata"]["name"] == "tensorplane-dev-t4":
            each["spec"]["nodeTaints"] = [{"key": "tensorplane.dev/spot", "value": "true", "effect": "NoSchedule"}]
    found = answer("low5", replace(WAITING, flavors=flavors))
    assert "t4" not in {row[0] for row in found.rows}
    line = (
        "t4 has taints that its pods do not tolerate: tensorplane.dev/spot=true:NoSchedule; add tolerations to use it."
    )
    assert line in found.after


def _pod(name: str, node: str, gpus: int, **metadata: Any) -> dict[str, Any]:
    container = {"resources": {"limits": {GPU_RESOURCE: str(gpus)}}}
    about = {"name": name, "namespace": "tensorplane-dev", "uid": name, **metadata}
    return {"metadata": about, "spec": {"nodeName": node, "containers": [container], "serviceAccountName": "server"}}


def test_gpus_of_pods_without_a_queue_are_reported() -> None:
    pods = [
        _pod("server-1", "ampere-0", 1),
        _pod("server-2", "ampere-1", 1),
        _pod("admitted", "ampere-1", 2, labels={"kueue.x-k8s.io/podset": "worker"}),
        _pod("waiting", "", 4),
        _pod("none", "ampere-1", 0),
    ]
    facts = replace(HELD, pods=pods)
    assert [(one.owner, one.flavor, one.gpus) for one in unqueued.of(facts)] == [("server", "a100-80gb", 2)]
    line = "Pods outside of queues hold GPUs of the same flavor: tensorplane-dev/server 2 of a100-80gb."
    assert line in answer("high3", facts, HELD_DETAILS).lines
    top = rows.of(facts, queue_work.works(facts))
    assert {one.name: one.unqueued for one in top.flavors if one.unqueued} == {"a100-80gb": 2}
    own = next(one for one in top.namespaces if one.name == "tensorplane-dev")
    assert (own.used["a100-80gb"], own.running, own.starting) == (10, 3, 1)


@pytest.mark.parametrize(
    ("job", "name"),
    [
        ("low4", "low4-aaaa"),
        ("search", "search-1cb7c08e"),
        ("low3-aaaa", "low3-aaaa"),
        ("vision/low3-aaaa", "low3-aaaa"),
    ],
)
def test_a_job_is_named_by_workload_run_or_namespace(job: str, name: str) -> None:
    assert get_job_set(WAITING.job_sets, WAITING.namespace, job, {})["metadata"]["name"] == name


@pytest.mark.parametrize(
    ("job", "stack", "context", "line"),
    [("serch", "dev", "", r"serch: stack dev has no such job; it has big, .*vision/low3-aaaa \(did you mean search\?\)"
      r"; for another stack \(.*prod.*\), add --stack NAME .make: STACK=NAME.$"),
     ("digits", "prod", "", r"stack prod has no such job; it has .*; declared in dev, .*staging: "
      r"add --stack dev .*or --stack staging"),
     ("later", "dev", "", r"later is declared but not in the cluster; deploy it with: make up$"),
     ("later", "dev", "kind", r"not in the cluster; deploy it with: make up CONTEXT=kind$"),
     ("later", "prod", "", r"not in the cluster; deploy it with: make up STACK=prod$"),
     ("later", "prod", "kind", r"deploy it with: make up STACK=prod CONTEXT=kind$"),
     ("texts", "dev", "", r"texts is a pipeline; see what its stages wait for with: tensorplane runs texts$"),
     ("server", "dev", "", r"server is a modelServer, which needs no queue; see its pods with: make status$"),
     ("server", "dev", "kind", r"its pods with: make status CONTEXT=kind$"),
     ("server", "prod", "", r"its pods with: make status STACK=prod$")],
)  # fmt: skip
def test_a_job_that_is_not_there_is_one_line(job: str, stack: str, context: str, line: str) -> None:
    declared = {"later": {"kind": "trainingJob"}, "texts": {"kind": "pipeline"}, "server": {"kind": "modelServer"}}
    with pytest.raises(UserError, match=line):
        get_job_set(WAITING.job_sets, WAITING.namespace, job, declared, stack, context)
