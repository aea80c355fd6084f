"""Why a job waits, runs or was stopped, in words."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from cli import queue_work, unqueued, why_pods, why_waits
from cli.queue_facts import Facts, condition
from cli.queue_work import Work
from cli.volume_facts import moment
from cli.why_answer import SHOWN, Answer, Asked, amounts, some
from components.catalog import GPU_RESOURCE
from components.faults import did_you_mean
from components.queue import PRIORITY_LABEL
from embedded import failures


def answer(asked: Asked) -> Answer:
    """Why the job is where it is."""
    for kind, state in (("Completed", "finished"), ("Failed", "failed")):
        if (ended := condition(asked.job_set, kind)).holds:
            verdict = f"{asked.name} {state} {asked.ago(ended.since)}: {ended.message}"
            return Answer(verdict, state, tuple(_ended_badly(asked)) if state == "failed" else ())
    queue = queue_work.queue_of(asked.job_set)
    if queue is None:
        found = why_pods.told(asked.details)
        return Answer(f"{asked.name} names no queue: nothing holds it back but its pods", "admitted", found)
    if asked.work is None:
        return _unknown_to_kueue(asked, queue)
    if asked.work.state in ("admitted", "running"):
        return _admitted(asked, asked.work)
    stuck = _stuck(asked, asked.work, queue)
    return stuck or why_waits.waiting(asked, asked.work)


def _ended_badly(asked: Asked) -> Iterator[str]:
    about = asked.job_set["metadata"]
    yield from failures.first(asked.details.pods) or ("Its pods are gone, and with them the reason.",)
    if restarts := (asked.job_set.get("status") or {}).get("restarts"):
        yield f"It had been started again {restarts} times."
    yield failures.again(about["namespace"], about["name"])


def _unknown_to_kueue(asked: Asked, queue: str) -> Answer:
    about, facts = asked.job_set["metadata"], asked.facts
    verdict = f"{asked.name} waits since {asked.ago(moment(about['creationTimestamp']))} and"
    there = _queues_of(facts, about["namespace"])
    if queue not in there:
        return Answer(f"{verdict} {_no_queue(about['namespace'], queue, there)}", "stuck")
    priority = about["labels"].get(PRIORITY_LABEL)
    if priority and facts.priorities is not None and priority not in facts.priorities:
        need = f"have {', '.join(sorted(facts.priorities))}{did_you_mean(priority, facts.priorities)}"
        return Answer(f"{verdict} its WorkloadPriorityClass {priority} does not exist; {need}", "stuck")
    said = [each for each in asked.details.events if (each.get("involvedObject") or {}).get("uid") == about["uid"]]
    lines = [f"{each['reason']}: {each.get('message', '')}" for each in said if each.get("type") == "Warning"]
    lines = list(dict.fromkeys(lines))[-SHOWN:]
    if not lines:
        lines = [
            "Kueue manages jobs of namespaces with the label app.kubernetes.io/part-of=tensorplane: look at namespace"
            f" {about['namespace']}, and whether Kueue runs: kubectl -n kueue-system get pods"
        ]
    return Answer(f"{verdict} Kueue has made no Workload of it for queue {queue}", "stuck", tuple(lines))


def _queues_of(facts: Facts, namespace: str) -> list[str]:
    found = (one["metadata"] for one in facts.local_queues)
    return sorted(about["name"] for about in found if about["namespace"] == namespace)


def _no_queue(namespace: str, queue: str, there: Sequence[str]) -> str:
    have = f"have {', '.join(there) or 'none'}{did_you_mean(queue, there)}"
    return f"names queue {queue}, which namespace {namespace} does not have; {have}"


def _admitted(asked: Asked, work: Work) -> Answer:
    kinds = queue_work.kinds(asked.facts.flavors)
    where = ", ".join(f"{kinds.get(flavor, flavor)} ({amounts(held)})" for flavor, held in sorted(work.held.items()))
    verb, since = ("runs", work.running.since) if work.state == "running" else ("is admitted", work.reserved.since)
    verdict = f"{asked.name} {verb} since {asked.ago(since)} on {where}, by queue {work.queue}"
    lines = list(_borrowing(asked, work, kinds))
    if work.state == "admitted":
        if not work.admitted.holds:
            lines.append(f"Its quota is reserved; Kueue still waits: {work.admitted.message or 'admission checks'}")
        lines += why_pods.told(asked.details)
        lines += _beside(asked, {kinds.get(flavor, flavor) for flavor, held in work.held.items() if held[GPU_RESOURCE]})
    return Answer(verdict, work.state, tuple(lines))


def _beside(asked: Asked, kinds: Collection[str]) -> Iterator[str]:
    """Who has GPUs of the same machines without a queue: no quota counts them."""
    held = [one for one in unqueued.of(asked.facts) if one.kind in kinds]
    if held:
        told = some([f"{one.namespace}/{one.owner} {one.gpus} of {one.kind}" for one in held])
        yield f"Pods that no queue admitted hold GPUs of the same machines: {told}."


def _borrowing(asked: Asked, work: Work, kinds: Mapping[str, str]) -> Iterator[str]:
    queue = work.admitted_by
    node = asked.room.queues.get(queue)
    borrowed = [
        kinds.get(flavor, flavor)
        for flavor, held in sorted(work.held.items())
        if node and held.get(GPU_RESOURCE, 0) > asked.room.own(queue, (flavor, GPU_RESOURCE))
    ]
    if borrowed:
        yield f"It borrows {', '.join(borrowed)}: it is stopped when the owner's jobs need it."


def _stuck(asked: Asked, work: Work, queue: str) -> Answer | None:
    """What no end of another job helps against."""
    verdict = f"{asked.name} waits since {asked.ago(work.created)} and"
    if work.cluster_queue is None:
        return Answer(f"{verdict} {_no_queue(work.namespace, queue, _queues_of(asked.facts, work.namespace))}", "stuck")
    found = {one["metadata"]["name"]: one for one in asked.facts.cluster_queues}.get(work.cluster_queue)
    if found is None and not asked.facts.cluster_queues:
        # Who may not list them learns what Kueue itself says.
        return None
    if found is None:
        return Answer(f"{verdict} its queue leads to ClusterQueue {work.cluster_queue}, which does not exist", "stuck")
    active = condition(found, "Active")
    if not active.holds:
        why = f"{active.reason}: {active.message}"
        return Answer(f"{verdict} queue {queue} admits nothing since {asked.ago(active.since)}: {why}", "stuck")
    if not work.active:
        why = work.evicted.message or "somebody set spec.active to false"
        return Answer(f"{verdict} Kueue tries it no more: {why}", "stuck", tuple(why_waits.stopped(asked, work)))
    return None
