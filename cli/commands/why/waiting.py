"""Why a job waits in its queue: who is ahead, what is short, who holds it, what would let it start."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from tensorplane.cli.commands.why import returned_quota
from tensorplane.cli.commands.why.answer import MAX_NAMES, Answer, Observed, amount, pods_text, resource_name, some
from tensorplane.cli.commands.why.shortage import Option, Short, short
from tensorplane.cli.kueue import flavor_fit, workloads
from tensorplane.cli.kueue.objects import Condition, JobObjects, condition
from tensorplane.cli.kueue.workloads import Work
from tensorplane.cli.output.numbers import ordinal
from tensorplane.components.catalog import GPU_RESOURCE
from tensorplane.core.times import age

_PREEMPTOR = re.compile(r"\(UID: ([0-9a-f-]+)")
_BY_REASON = {
    "InCohortReclamation": "reclaimed quota that is guaranteed to its queue",
    "InClusterQueue": "has a higher priority in the same queue",
    "InCohortFairSharing": "has a greater fair share",
    "InCohortReclaimWhileBorrowing": "reclaimed quota that is guaranteed to its queue and borrowed the rest",
}


def waiting(observed: Observed, work: Work) -> Answer:
    """The answer for a job that is not admitted yet."""
    evicted = work.evicted.since if work.evicted.holds else None
    asks = "; ".join(map(pods_text, work.pods))
    conclusion = (
        f"{observed.name} has waited in queue {work.queue} since {observed.ago(evicted or work.created)} for {asks}"
    )
    lines = [*stopped(observed, work), *_position(observed, work)]
    if work.requeue_at and work.requeue_at > observed.now:
        left = age(observed.now, work.requeue_at)
        return Answer(
            conclusion, "waiting", (*lines, f"Kueue retries it in {left}, at {work.requeue_at:%H:%M:%S} UTC.")
        )
    if work.cluster_queue not in observed.quota.queues:
        return Answer(conclusion, "waiting", (*lines, f"Kueue says: {work.reserved.message or 'nothing yet'}"))
    missing = short(work, observed.quota, observed.objects.flavors, flavor_fit.without_nodes(observed.objects))
    if missing is None:
        message = work.reserved.message or "Kueue has not looked at it yet"
        capacity = (
            "Its queue has quota for it, but no nodes have room" if "topology" in message else "There is quota for it"
        )
        return Answer(
            conclusion, "waiting", (*lines, f"{capacity}. Kueue says: {message}", *observed.crossed_limits(work))
        )
    return _short(observed, work, Answer(conclusion, "waiting", tuple(lines)), missing)


def _short(observed: Observed, work: Work, found: Answer, missing: Short) -> Answer:
    flavors = workloads.flavor_names(observed.objects.flavors)
    possible = [option for option in missing.options if option.possible]
    rows = tuple(
        (
            flavors.get(option.flavor, option.flavor),
            resource_name(option.resource),
            amount(option.resource, option.needed),
            amount(option.resource, option.free),
            amount(option.resource, option.most),
            "\n".join(_holders(observed, option)) or "-",
        )
        for option in missing.options
    )
    headings = ("flavor", "short of", "needs", "available", "maximum", "held by")
    idle = tuple(_without_nodes(observed, missing, flavors))
    if not possible and not idle:
        conclusion = f"{observed.name} can never start: {pods_text(missing.pods)} need more than"
        conclusion += f" queue {work.queue} can ever get of any flavor that accepts them"
        return Answer(
            conclusion, "stuck", found.lines, headings if rows else (), rows, tuple(_tainted(missing, flavors))
        )
    admits = _admits(observed, work, possible, flavors) if possible else ()
    # Kueue prefers the idle quota of a flavor without nodes to another that it would have to reclaim.
    is_reclaimed = flavor_fit.passed_over(observed.objects.flavors).issuperset(missing.without_nodes)
    reclaimed = (line for option in possible if is_reclaimed for line in _reclaimed(work, option, flavors))
    after = (*admits, *reclaimed, *idle, *_tainted(missing, flavors))
    return replace(found, headings=headings if rows else (), rows=rows, after=after)


def _without_nodes(observed: Observed, missing: Short, flavors: Mapping[str, str]) -> Iterator[str]:
    """The flavors that take no part until one of their nodes takes pods."""
    found, out = flavor_fit.without_nodes(observed.objects), flavor_fit.passed_over(observed.objects.flavors)
    for flavor in missing.without_nodes:
        why = f": {some(found[flavor])}" if found[flavor] else ""
        then = "the job does not get it until one does" if flavor in out else "Kueue does not pass it over yet"
        yield f"No node of {flavors.get(flavor, flavor)} takes pods{why}; {then}."


def _tainted(missing: Short, flavors: Mapping[str, str]) -> Iterator[str]:
    """The taints that its pods would have to tolerate."""
    for flavor, taints in missing.tainted:
        name = flavors.get(flavor, flavor)
        yield f"{name} has taints that its pods do not tolerate: {', '.join(taints)}; add tolerations to use it."


def _admits(observed: Observed, work: Work, options: Sequence[Option], flavors: Mapping[str, str]) -> Iterator[str]:
    """What would let it start."""
    alone = [each[0] for option in options for each in option.ends if len(each) == 1]
    several = [each for option in options for each in option.ends if len(each) > 1]
    if alone:
        names = list(dict.fromkeys(observed.name_of(each) for each in alone))
        yield f"It can start when one of these ends: {some(names)}."
    elif several:
        sets = list(dict.fromkeys(" and ".join(sorted(map(observed.name_of, each))) for each in several))
        yield f"It can start when these end: {some(sets, ', or ')}."
    more = [
        f"{amount(option.resource, option.needed - option.free)} more {resource_name(option.resource)} of"
        f" {flavors.get(option.flavor, option.flavor)}"
        for option in options
    ]
    yield f"{'Or' if alone or several else 'It can start'} with {', or '.join(more)}."


def _reclaimed(work: Work, option: Option, flavors: Mapping[str, str]) -> Iterator[str]:
    """Whether Kueue preempts other queues' jobs for it, if what it is short of is guaranteed to its queue."""
    if option.used + option.needed > option.own:
        return
    flavor = flavors.get(option.flavor, option.flavor)
    own, used = amount(option.resource, option.own), amount(option.resource, option.used)
    unit = flavor if option.resource == GPU_RESOURCE else f"{resource_name(option.resource)} of {flavor}"
    quota = f"Queue {work.queue} is guaranteed {own} {unit} and holds {used}"
    if not option.excess:
        yield f"{quota}: Kueue preempts jobs that borrow the rest."
        return
    excess = " and ".join(
        f"{amount(one.resource, one.held)} {resource_name(one.resource)}, {amount(one.resource, one.own)} of them"
        " guaranteed"
        for one in option.excess
    )
    yield f"{quota}, but with this job it would hold {excess}: Kueue preempts no jobs for it; lower what it requests."


def _holders(observed: Observed, option: Option) -> Iterator[str]:
    names = workloads.queue_names(observed.objects.cluster_queues)
    for holder in option.holders[:MAX_NAMES]:
        queue = holder.admitted_by
        held = amount(option.resource, holder.held[option.flavor][option.resource])
        since = age(holder.reserved.since, observed.now)
        yield f"{observed.name_of(holder)} {held} (queue {names.get(queue, queue)}, {since})"
    if len(option.holders) > MAX_NAMES:
        yield f"{len(option.holders) - MAX_NAMES} more"


def stopped(observed: Observed, work: Work) -> Iterator[str]:
    """Whether it ran before, and why it was stopped."""
    evicted = work.evicted
    if not evicted.holds:
        return
    when = observed.ago(evicted.since)
    if evicted.reason == "Preempted":
        by = _preemptor(observed, evicted)
        why = _BY_REASON.get(condition(work.thing, "Preempted").reason, "needed its quota")
        yield f"It was preempted at {when}: {by} {why}."
    elif evicted.reason == "Deactivated" and returned_quota.reason(work):
        yield returned_quota.sentence(observed, work)
        return
    elif evicted.reason == "PodsReadyTimeout":
        yield f"It was evicted at {when}, the {ordinal(work.requeues)} time: not all of its pods were ready in time."
    else:
        yield f"It was evicted at {when}: {evicted.reason}: {evicted.message}"
    times = sum(
        each.get("count", 0)
        for each in ((work.thing["status"].get("schedulingStats") or {}).get("evictions") or ())
        if each.get("reason") == evicted.reason
    )
    if times > 1:
        yield f"That happened {times} times."


def _preemptor(observed: Observed, evicted: Condition) -> str:
    found = _PREEMPTOR.search(evicted.message)
    by = next((work for work in observed.works if found and work.uid == found.group(1)), None)
    if by is None:
        return "a job that no longer exists"
    names = workloads.queue_names(observed.objects.cluster_queues)
    return f"{observed.name_of(by)} of queue {names.get(by.cluster_queue or '', by.queue)}"


def _position(observed: Observed, work: Work) -> Iterator[str]:
    """Its position among the waiting jobs."""
    line = in_line(work, observed.works, observed.details)
    index = line.index(work)
    names = workloads.queue_names(observed.objects.cluster_queues)
    queue = names.get(work.cluster_queue or "", work.queue)
    if index == 0:
        yield f"It is the first of {len(line)} in queue {queue}."
    else:
        ahead = some([observed.name_of(each) for each in line[:index]])
        position = f"{ordinal(index + 1)} of {len(line)}"
        yield f"It is the {position} in queue {queue}, behind {ahead}, which Kueue tries first."
        found = {one["metadata"]["name"]: one for one in observed.objects.cluster_queues}.get(
            work.cluster_queue or "", {}
        )
        if found.get("spec", {}).get("queueingStrategy") == "StrictFIFO":
            yield "The queue's order is strict: it starts after them, even if it fits earlier."
    if work.cluster_queue is None or work.cluster_queue not in observed.quota.queues:
        return
    shared = observed.quota.sharing(work.cluster_queue)
    above = [
        f"{observed.name_of(each)} (queue {names.get(each.cluster_queue or '', each.queue)})"
        for each in observed.works
        if each.state == "waiting" and each.cluster_queue in shared and each.priority > work.priority
        if each.cluster_queue != work.cluster_queue
    ]
    if above:
        yield f"Jobs of other queues that have a higher priority and wait for the same flavors: {some(above)}."


def in_line(work: Work, works: Sequence[Work], details: JobObjects) -> list[Work]:
    """The waiting jobs of the same ClusterQueue in Kueue's order: as it reports, else by priority and time."""
    line = [each for each in works if each.cluster_queue == work.cluster_queue and each.state == "waiting"]
    line = [each for each in line if each.active]
    positions = {owner: index for index, owner in enumerate(details.order.get(work.cluster_queue or "", ()))}
    last = len(positions)
    return sorted(line, key=lambda each: (positions.get(each.owner, last), -each.priority, queued(each), each.uid))


def queued(work: Work) -> float:
    """A job's queueing time in Kueue: one whose pods were not ready in time is requeued at the end."""
    again = work.evicted.holds and work.evicted.reason in ("PodsReadyTimeout", "AdmissionCheck")
    then = work.evicted.since if again else work.created
    return then.timestamp() if then else 0
