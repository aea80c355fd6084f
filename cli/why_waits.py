"""Why a job is in its queue still: whom it waits behind, what is short, who holds it, what would let it start."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from cli import queue_work
from cli.queue_facts import Condition, Details, condition
from cli.queue_work import Work
from cli.volume_facts import age
from cli.why_answer import SHOWN, Answer, Asked, amount, nth, pods_told, resource_name, some
from cli.why_short import Option, Short, short

_PREEMPTOR = re.compile(r"\(UID: ([0-9a-f-]+)")
_BY_REASON = {
    "InCohortReclamation": "took back what is its queue's",
    "InClusterQueue": "has a higher priority in the same queue",
    "InCohortFairSharing": "has more right to a share of it",
    "InCohortReclaimWhileBorrowing": "took back what is its queue's, borrowing the rest",
}


def waiting(asked: Asked, work: Work) -> Answer:
    """The answer for a job that has no place yet."""
    evicted = work.evicted.since if work.evicted.holds else None
    asks = "; ".join(map(pods_told, work.pods))
    verdict = f"{asked.name} waits in queue {work.queue} since {asked.ago(evicted or work.created)} for {asks}"
    lines = [*stopped(asked, work), *_place(asked, work)]
    if work.requeue_at and work.requeue_at > asked.now:
        left = age(asked.now, work.requeue_at)
        return Answer(
            verdict, "waiting", (*lines, f"Kueue tries it again in {left}, at {work.requeue_at:%H:%M:%S} UTC.")
        )
    if work.cluster_queue not in asked.room.queues:
        return Answer(verdict, "waiting", (*lines, f"Kueue says: {work.reserved.message or 'nothing yet'}"))
    missing = short(work, asked.room, asked.facts.flavors)
    if missing is None:
        said = work.reserved.message or "Kueue has not looked at it yet"
        return Answer(verdict, "waiting", (*lines, f"There is room for it. Kueue says: {said}"))
    return _told_short(asked, work, Answer(verdict, "waiting", tuple(lines)), missing)


def _told_short(asked: Asked, work: Work, found: Answer, missing: Short) -> Answer:
    kinds = queue_work.kinds(asked.facts.flavors)
    possible = [option for option in missing.options if option.possible]
    rows = tuple(
        (
            kinds.get(option.flavor, option.flavor),
            resource_name(option.resource),
            amount(option.resource, option.needed),
            amount(option.resource, option.free),
            amount(option.resource, option.most),
            "\n".join(_holders(asked, option)) or "-",
        )
        for option in missing.options
    )
    headings = ("kind", "short of", "needs", "free for it", "at most", "held by")
    if not possible:
        verdict = f"{asked.name} can never start: {pods_told(missing.pods)} need more than"
        verdict += f" queue {work.queue} ever gets of one kind of machine that lets them in"
        return Answer(verdict, "stuck", found.lines, headings if rows else (), rows, tuple(_tainted(missing, kinds)))
    after = (*_admits(asked, work, possible, kinds), *_tainted(missing, kinds))
    return replace(found, headings=headings, rows=rows, after=after)


def _tainted(missing: Short, kinds: Mapping[str, str]) -> Iterator[str]:
    """What its pods would have to tolerate."""
    for flavor, taints in missing.tainted:
        yield f"{kinds.get(flavor, flavor)} keeps its pods off by {', '.join(taints)}: add tolerations to let them in."


def _admits(asked: Asked, work: Work, options: Sequence[Option], kinds: Mapping[str, str]) -> Iterator[str]:
    """What would let it start."""
    alone = [each[0] for option in options for each in option.ends if len(each) == 1]
    several = [each for option in options for each in option.ends if len(each) > 1]
    if alone:
        names = list(dict.fromkeys(asked.told(each) for each in alone))
        yield f"It fits when one of these ends: {some(names)}."
    elif several:
        sets = list(dict.fromkeys(" and ".join(sorted(map(asked.told, each))) for each in several))
        yield f"It fits when these end: {some(sets, ', or ')}."
    more = [
        f"{amount(option.resource, option.needed - option.free)} {resource_name(option.resource)} more of"
        f" {kinds.get(option.flavor, option.flavor)}"
        for option in options
    ]
    yield f"Or with {', or '.join(more)}."
    for option in options:
        held = sum(_of_queue(holder, work, option) for holder in option.holders)
        if held + option.needed <= option.own:
            own, used = amount(option.resource, option.own), amount(option.resource, held)
            kind = kinds.get(option.flavor, option.flavor)
            yield f"Queue {work.queue} is sure of {own} {kind} and holds {used}: Kueue stops jobs that borrow the rest."


def _of_queue(holder: Work, work: Work, option: Option) -> float:
    """What a job of the same queue holds."""
    same = holder.admitted_by == work.cluster_queue
    return holder.held[option.flavor][option.resource] if same else 0


def _holders(asked: Asked, option: Option) -> Iterator[str]:
    names = queue_work.queue_names(asked.facts.cluster_queues)
    for holder in option.holders[:SHOWN]:
        queue = holder.admitted_by
        held = amount(option.resource, holder.held[option.flavor][option.resource])
        yield f"{asked.told(holder)} {held} (queue {names.get(queue, queue)}, {age(holder.reserved.since, asked.now)})"
    if len(option.holders) > SHOWN:
        yield f"{len(option.holders) - SHOWN} more"


def stopped(asked: Asked, work: Work) -> Iterator[str]:
    """Whether it ran before, and why it was stopped."""
    evicted = work.evicted
    if not evicted.holds:
        return
    when = asked.ago(evicted.since)
    if evicted.reason == "Preempted":
        by = _preemptor(asked, evicted)
        why = _BY_REASON.get(condition(work.thing, "Preempted").reason, "needed its place")
        yield f"It was stopped {when}: {by} {why}."
    elif evicted.reason == "PodsReadyTimeout":
        yield f"It was stopped {when}, the {nth(work.requeues)} time: not all of its pods were ready in time."
    else:
        yield f"It was stopped {when}: {evicted.reason}: {evicted.message}"
    times = sum(
        each.get("count", 0)
        for each in ((work.thing["status"].get("schedulingStats") or {}).get("evictions") or ())
        if each.get("reason") == evicted.reason
    )
    if times > 1:
        yield f"That happened {times} times."


def _preemptor(asked: Asked, evicted: Condition) -> str:
    found = _PREEMPTOR.search(evicted.message)
    by = next((work for work in asked.works if found and work.uid == found.group(1)), None)
    if by is None:
        return "a job that is gone now"
    names = queue_work.queue_names(asked.facts.cluster_queues)
    return f"{asked.told(by)} of queue {names.get(by.cluster_queue or '', by.queue)}"


def _place(asked: Asked, work: Work) -> Iterator[str]:
    """Its place among those that wait."""
    line = in_line(work, asked.works, asked.details)
    place = line.index(work)
    names = queue_work.queue_names(asked.facts.cluster_queues)
    queue = names.get(work.cluster_queue or "", work.queue)
    if place == 0:
        yield f"It is the first of {len(line)} in queue {queue}."
    else:
        ahead = some([asked.told(each) for each in line[:place]])
        yield f"It is the {nth(place + 1)} of {len(line)} in queue {queue}, behind {ahead}: they choose first."
        found = {one["metadata"]["name"]: one for one in asked.facts.cluster_queues}.get(work.cluster_queue or "", {})
        if found.get("spec", {}).get("queueingStrategy") == "StrictFIFO":
            yield "The queue's order is strict: it starts after them, also where it would fit before."
    if work.cluster_queue is None or work.cluster_queue not in asked.room.queues:
        return
    shared = asked.room.around(work.cluster_queue)
    above = [
        f"{asked.told(each)} (queue {names.get(each.cluster_queue or '', each.queue)})"
        for each in asked.works
        if each.state == "waiting" and each.cluster_queue in shared and each.priority > work.priority
        if each.cluster_queue != work.cluster_queue
    ]
    if above:
        yield f"Of a higher priority, and waiting for the same machines: {some(above)}."


def in_line(work: Work, works: Sequence[Work], details: Details) -> list[Work]:
    """Who waits in the same ClusterQueue, in Kueue's order: as it says, else by priority and time."""
    line = [each for each in works if each.cluster_queue == work.cluster_queue and each.state == "waiting"]
    line = [each for each in line if each.active]
    told = {owner: place for place, owner in enumerate(details.order.get(work.cluster_queue or "", ()))}
    last = len(told)
    return sorted(line, key=lambda each: (told.get(each.owner, last), -each.priority, queued(each), each.uid))


def queued(work: Work) -> float:
    """When a job came, as Kueue counts: one whose pods were not ready in time begins again at the end."""
    again = work.evicted.holds and work.evicted.reason in ("PodsReadyTimeout", "AdmissionCheck")
    then = work.evicted.since if again else work.created
    return then.timestamp() if then else 0
