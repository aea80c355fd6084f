"""Why a job waits, runs or was stopped, in words."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from tensorplane.cli.api_values import moment
from tensorplane.cli.commands.why import nodes, pods, returned_quota, waiting
from tensorplane.cli.commands.why.answer import MAX_NAMES, Answer, Observed, amounts, some
from tensorplane.cli.kueue import unqueued, workloads
from tensorplane.cli.kueue.objects import ClusterObjects, condition
from tensorplane.cli.kueue.workloads import Work
from tensorplane.cli.training_jobs import jobset_api
from tensorplane.components.base.labels import MANAGED_BY, NAME, PRIORITY_LABEL
from tensorplane.components.catalog import GPU_RESOURCE
from tensorplane.driver.runs import failures, published
from tensorplane.driver.runs.job_set import JobSet
from tensorplane.stack_file.nearest import did_you_mean

_PLAIN = ("jobset completed successfully", "jobset failed due to one or more job failures")
_POLICY = "FailJobSet failure policy action"
"""JobSet's words about its own mechanism; how the pods ended says why."""


def answer(observed: Observed) -> Answer:
    """Why the job is in its state."""
    for kind, state in (("Completed", "finished"), ("Failed", "failed")):
        if (ended := condition(observed.job_set, kind)).holds:
            reason = "" if ended.message in _PLAIN or _POLICY in ended.message else f": {ended.message}"
            conclusion = f"{observed.name} {state} {observed.ago(ended.since)}{reason}"
            lines = _ended_badly(observed) if state == "failed" else _ended_well(observed)
            return Answer(conclusion, state, tuple(lines))
    queue = workloads.queue_of(observed.job_set)
    if queue is None:
        return _without_queue(observed)
    if observed.work is None:
        return _unknown_to_kueue(observed, queue)
    if observed.work.state in ("admitted", "running"):
        return _admitted(observed, observed.work)
    found = _stuck(observed, observed.work, queue) or waiting.waiting(observed, observed.work)
    return replace(found, lines=(*found.lines, *nodes.lines(observed.details, observed.now)))


def _ended_badly(observed: Observed) -> Iterator[str]:
    about = observed.job_set["metadata"]
    yield from failures.first_failure(observed.details.pods) or (failures.without_pods(observed.job_set),)
    yield from _restarts(observed)
    if (about.get("labels") or {}).get(MANAGED_BY) == jobset_api.CLI_MANAGER:
        yield failures.HOW_TO_RERUN_SUBMITTED
    elif about["namespace"] == observed.objects.namespace and NAME in (about.get("labels") or {}):
        yield failures.how_to_rerun(observed.job_set, observed.details.pods, observed.deploy, observed.refresh)
    else:
        yield "The settings do not declare it; its owner can delete the JobSet and create it again."


def _restarts(observed: Observed) -> Iterator[str]:
    status = observed.job_set.get("status") or {}
    if restarts := status.get("restarts"):
        counting = status.get("restartsCountTowardsMax", 0)
        times, counts = "time" if restarts == 1 else "times", "counts" if counting == 1 else "count"
        yield f"It was restarted {restarts} {times} ({counting} {counts} against maxRestarts)."


def _former_starts(observed: Observed) -> Iterator[str]:
    """The same of a job whose former pods are deleted."""
    found = list(_restarts(observed))
    yield from found
    if found and JobSet(observed.job_set).kept_lines:
        about = observed.job_set["metadata"]
        job = (about.get("labels") or {}).get(NAME, about["name"])
        yield f"How the start before ended: tensorplane logs {job} --previous."


def _ended_well(observed: Observed) -> Iterator[str]:
    model = published.find(observed.details.pods)
    yield from model.lines if model else ()


def _without_queue(observed: Observed) -> Answer:
    found = (
        *pods.reasons(observed.details),
        *_former_starts(observed),
        *nodes.lines(observed.details, observed.now),
    )
    if pods.all_run(observed.details):
        return Answer(f"{observed.name} runs, in no queue", "running", found)
    if not failures.cannot_start(observed.details.pods):
        return Answer(f"{observed.name} is in no queue; it only waits for its pods", "admitted", found)
    about = observed.job_set["metadata"]
    conclusion = f"{observed.name} cannot start, and without a queue nothing stops it"
    return Answer(conclusion, "stuck", (*found, failures.how_to_stop(about["namespace"], about["name"])))


def _unknown_to_kueue(observed: Observed, queue: str) -> Answer:
    about, objects = observed.job_set["metadata"], observed.objects
    conclusion = f"{observed.name} has waited since {observed.ago(moment(about['creationTimestamp']))}:"
    there = _queues_of(objects, about["namespace"])
    if queue not in there:
        return Answer(f"{conclusion} {_no_queue(about['namespace'], queue, there)}", "stuck")
    priority = about["labels"].get(PRIORITY_LABEL)
    if priority and objects.priorities is not None and priority not in objects.priorities:
        have = f"{', '.join(sorted(objects.priorities))}{did_you_mean(priority, objects.priorities)}"
        return Answer(
            f"{conclusion} its WorkloadPriorityClass {priority} does not exist; choose one of {have}", "stuck"
        )
    events = [each for each in observed.details.events if (each.get("involvedObject") or {}).get("uid") == about["uid"]]
    lines = [f"{each['reason']}: {each.get('message', '')}" for each in events if each.get("type") == "Warning"]
    lines = list(dict.fromkeys(lines))[-MAX_NAMES:]
    if not lines:
        lines = [
            "Kueue only manages jobs in namespaces with the label app.kubernetes.io/part-of=tensorplane; check the"
            f" labels of namespace {about['namespace']}, and that Kueue runs: kubectl -n kueue-system get pods"
        ]
    return Answer(f"{conclusion} Kueue has not created a Workload for it in queue {queue}", "stuck", tuple(lines))


def _queues_of(objects: ClusterObjects, namespace: str) -> list[str]:
    found = (one["metadata"] for one in objects.local_queues)
    return sorted(about["name"] for about in found if about["namespace"] == namespace)


def _no_queue(namespace: str, queue: str, there: Sequence[str]) -> str:
    have = f"{', '.join(there) or 'none'}{did_you_mean(queue, there)}"
    return f"namespace {namespace} has no queue {queue}; it has {have}"


def _admitted(observed: Observed, work: Work) -> Answer:
    flavors = workloads.flavor_names(observed.objects.flavors)
    flavor_text = ", ".join(
        f"{flavors.get(flavor, flavor)} ({amounts(held)})" for flavor, held in sorted(work.held.items())
    )
    verb, since = ("run", work.running.since) if work.state == "running" else ("been admitted", work.reserved.since)
    conclusion = f"{observed.name} has {verb} since {observed.ago(since)} on {flavor_text}, in queue {work.queue}"
    lines = [
        *_borrowing(observed, work, flavors),
        *_former_starts(observed),
        *nodes.lines(observed.details, observed.now),
    ]
    if work.state == "admitted":
        if not work.admitted.holds:
            lines.append(f"Its quota is reserved; Kueue waits for: {work.admitted.message or 'admission checks'}")
        lines += pods.reasons(observed.details)
        lines += observed.crossed_limits(work)
        lines += _unqueued(
            observed, {flavors.get(flavor, flavor) for flavor, held in work.held.items() if held[GPU_RESOURCE]}
        )
    return Answer(conclusion, work.state, tuple(lines))


def _unqueued(observed: Observed, flavors: Collection[str]) -> Iterator[str]:
    """Pods with GPUs of the same flavors without a queue, which no quota counts."""
    held = [one for one in unqueued.of(observed.objects) if one.flavor in flavors]
    if held:
        holders = some([f"{one.namespace}/{one.owner} {one.gpus} of {one.flavor}" for one in held])
        yield f"Pods outside of queues hold GPUs of the same flavor: {holders}."


def _borrowing(observed: Observed, work: Work, flavors: Mapping[str, str]) -> Iterator[str]:
    queue = work.admitted_by
    node = observed.quota.queues.get(queue)
    borrowed = [
        flavors.get(flavor, flavor)
        for flavor, held in sorted(work.held.items())
        if node and held.get(GPU_RESOURCE, 0) > observed.quota.own(queue, (flavor, GPU_RESOURCE))
    ]
    if borrowed:
        yield f"It borrows {', '.join(borrowed)}: Kueue preempts it when jobs of the owning queue need them."


def _stuck(observed: Observed, work: Work, queue: str) -> Answer | None:
    """Obstacles that the end of another job does not remove."""
    conclusion = f"{observed.name} has waited since {observed.ago(work.created)}:"
    if work.cluster_queue is None:
        return Answer(
            f"{conclusion} {_no_queue(work.namespace, queue, _queues_of(observed.objects, work.namespace))}", "stuck"
        )
    found = {one["metadata"]["name"]: one for one in observed.objects.cluster_queues}.get(work.cluster_queue)
    if found is None and not observed.objects.cluster_queues:
        # A user who may not list them gets Kueue's own message.
        return None
    if found is None:
        return Answer(f"{conclusion} the ClusterQueue of its queue, {work.cluster_queue}, does not exist", "stuck")
    active = condition(found, "Active")
    if not active.holds:
        why = f"{active.reason}: {active.message}"
        return Answer(
            f"{conclusion} queue {queue} has admitted nothing since {observed.ago(active.since)}: {why}", "stuck"
        )
    if returned := returned_quota.answer(observed, work):
        return returned
    if not work.active:
        why = work.evicted.message or "somebody set spec.active to false"
        return Answer(
            f"{conclusion} Kueue no longer tries to admit it: {why}", "stuck", tuple(waiting.stopped(observed, work))
        )
    return None
