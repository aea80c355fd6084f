"""What the dashboard of the queues shows: panels with their queries, over metrics of Kueue's own."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from components.catalog import GPU_RESOURCE

Step = tuple[float | None, str]


@dataclass(frozen=True)
class Query:
    """One query in Prometheus' language, and what its series are called."""

    promql: str
    legend: str


@dataclass(frozen=True)
class Panel:
    """One panel: what it answers, in which unit, and from which value on it changes its colour."""

    title: str
    about: str
    queries: tuple[Query, ...]
    unit: str = "short"
    kind: Literal["timeseries", "stat", "bargauge", "table"] = "timeseries"
    width: int = 12
    height: int = 8
    decimals: int | None = None
    thresholds: tuple[Step, ...] = ()


_QUEUES = 'cluster_queue=~"$stack-($queue)"'
_PREEMPTING = 'preempting_cluster_queue=~"$stack-($queue)"'
_GPUS = f'{_QUEUES}, resource="{GPU_RESOURCE}"'


def _now(metric: str, selector: str, *by: str) -> str:
    """What a gauge says. Replicas of Kueue that take over from each other tell the same: it counts once."""
    return f"max by ({', '.join(by)}) ({metric}{{{selector}}})"


def _counted(metric: str, selector: str, *by: str) -> str:
    """What a counter counted in the window. One that began within it counts as a whole: Kueue has no counter of what
    never happened, and Prometheus takes its first value for where it always was."""
    series = f"{metric}{{{selector}}}"
    known, new = (
        f"(increase({series}[$window]) and {series} offset $window)",
        f"({series} unless {series} offset $window)",
    )
    return f"sum by ({', '.join(by)}) ({known} or {new})"


def _quantile(share: float, histogram: str, selector: str, *by: str) -> str:
    return f"histogram_quantile({share:g}, {_counted(f'{histogram}_bucket', selector, 'le', *by)})"


def _short(promql: str, **labels: str) -> str:
    """The same with names as the settings have them, without the stack's in front: `label="of which"`."""
    for label, long in labels.items():
        promql = f'label_replace({promql}, "{label}", "$1", "{long}", "$stack-(.+)")'
    return promql


def _by_queue(promql: str) -> str:
    return _short(promql, queue="cluster_queue")


def _cards(promql: str) -> str:
    """One line of the table: by queue and card, and by nothing else, so that the lines of several queries meet."""
    return f"sum by (queue, card) ({_short(promql, queue='cluster_queue', card='flavor')})"


def _by_namespace(metric: str) -> str:
    """By the namespace of local queues. Most ways to scrape have a label of this name for where Kueue itself runs, and
    rename what Kueue says."""
    found = (
        f'label_replace({metric}{{name=~"$queue", {label}=~"$namespace", resource="{GPU_RESOURCE}"}}, '
        f'"queues_in", "$1", "{label}", "(.+)")'
        for label in ("exported_namespace", "namespace")
    )
    return f"sum by (queues_in) (max by (queues_in, name, flavor) ({' or '.join(found)}))"


def _waits(histogram: str) -> tuple[Query, ...]:
    return tuple(
        Query(_by_queue(_quantile(share, histogram, _QUEUES, "cluster_queue")), f"{{{{queue}}}} p{share * 100:g}")
        for share in (0.5, 0.95)
    )


_WAIT = "kueue_admission_wait_time_seconds"
_PENDING = _now("kueue_pending_workloads", _QUEUES, "cluster_queue", "status")
_USED = _now("kueue_cluster_queue_resource_usage", _GPUS, "cluster_queue", "flavor")
_QUOTA = _now("kueue_cluster_queue_nominal_quota", _GPUS, "cluster_queue", "flavor")
_BORROWED = f"clamp_min({_USED} - {_QUOTA}, 0)"
_UNUSED = f"clamp_min({_QUOTA} - {_USED}, 0)"
_PREEMPTED = _counted("kueue_preempted_workloads_total", _PREEMPTING, "preempting_cluster_queue", "reason")

_OVERVIEW = (
    Panel(
        "Jobs waiting",
        "Jobs that are in a queue and not admitted.",
        (Query(f"sum({_PENDING})", "waiting"),),
        kind="stat",
        width=6,
        height=4,
        thresholds=((None, "green"), (1, "yellow"), (50, "red")),
    ),
    Panel(
        "Longest wait, p95",
        "Of the jobs admitted in the window, one in twenty waited longer, in the queue where it was worst.",
        (Query(f"max({_quantile(0.95, _WAIT, _QUEUES, 'cluster_queue')} >= 0)", "p95"),),
        unit="s",
        kind="stat",
        width=6,
        height=4,
        thresholds=((None, "green"), (600, "yellow"), (3600, "red")),
    ),
    Panel(
        "GPUs in use",
        "Share of the queues' quotas that admitted jobs hold. At 100% a new job waits, or stops another.",
        (Query(f"sum({_USED}) / (sum({_QUOTA}) > 0)", "in use"),),
        unit="percentunit",
        kind="stat",
        width=6,
        height=4,
        decimals=0,
        thresholds=((None, "green"), (0.9, "yellow"), (1, "red")),
    ),
    Panel(
        "Jobs preempted",
        "Jobs stopped for others in the window. They go on from their last checkpoint.",
        (Query(f"sum({_PREEMPTED}) or vector(0)", "preempted"),),
        kind="stat",
        width=6,
        height=4,
        decimals=0,
        thresholds=((None, "green"), (1, "yellow"), (10, "red")),
    ),
)
_WAITING = (
    Panel(
        "Queue wait",
        "From being queued to being admitted, by queue: half of the jobs (p50), one in twenty (p95) waited longer.",
        _waits(_WAIT),
        unit="s",
        thresholds=((None, "transparent"), (3600, "red")),
    ),
    Panel(
        "Pending jobs",
        "Active ones are tried when something changes; inadmissible ones found no room when they were last tried.",
        (Query(_by_queue(_PENDING), "{{queue}} {{status}}"),),
        decimals=0,
    ),
    Panel(
        "Time to pods ready",
        "From admission until all pods run: starting nodes, pulling images. After 20 minutes the job is stopped and "
        "queued again.",
        _waits("kueue_admitted_until_ready_wait_time_seconds"),
        unit="s",
        thresholds=((None, "transparent"), (1200, "red")),
    ),
    Panel(
        "Admitted jobs",
        "Jobs that hold what they asked for.",
        (Query(_by_queue(_now("kueue_admitted_active_workloads", _QUEUES, "cluster_queue")), "{{queue}}"),),
        decimals=0,
    ),
)
_USE = (
    Panel(
        "GPUs by queue and card",
        "What a queue is sure of, what its jobs hold, how much of that is borrowed, and how much of its own is idle or "
        "lent.",
        (
            Query(_cards(_QUOTA), "quota"),
            Query(_cards(_USED), "used"),
            Query(_cards(_BORROWED), "borrowed"),
            Query(_cards(_UNUSED), "idle or lent"),
        ),
        kind="table",
        decimals=0,
    ),
    Panel(
        "Use of each card",
        "Share of the quotas for a card that admitted jobs hold, whoever borrows it.",
        (Query(_short(f"sum by (flavor) ({_USED}) / (sum by (flavor) ({_QUOTA}) > 0)", card="flavor"), "{{card}}"),),
        unit="percentunit",
        kind="bargauge",
        decimals=0,
        thresholds=((None, "green"), (0.9, "yellow"), (1, "red")),
    ),
    Panel(
        "GPUs borrowed",
        "Beyond a queue's own quota, by queue and card. Their owner may want them back: the job is stopped then.",
        (Query(_short(_BORROWED, queue="cluster_queue", card="flavor"), "{{queue}} {{card}}"),),
        decimals=0,
    ),
    Panel(
        "GPUs lent",
        "By card: what some queues borrow is what the others lend.",
        (Query(_short(f"sum by (flavor) ({_BORROWED})", card="flavor"), "{{card}}"),),
        decimals=0,
    ),
    Panel(
        "GPUs by namespace",
        "What the jobs of the stack and of each team hold.",
        (Query(_by_namespace("kueue_local_queue_resource_usage"), "{{queues_in}}"),),
        decimals=0,
    ),
    Panel(
        "GPUs that pending jobs ask for",
        "By queue, whichever card they would get.",
        (Query(_by_queue(_now("kueue_cluster_queue_resource_pending", _GPUS, "cluster_queue")), "{{queue}}"),),
        decimals=0,
    ),
)
_STOPPED = (
    Panel(
        "Preemptions",
        "Jobs stopped in the window, by the queue that wanted the room and why: InClusterQueue for a job of higher "
        "priority, InCohortReclamation to take back what was lent, InCohortFairSharing by weight.",
        (Query(_short(_PREEMPTED, queue="preempting_cluster_queue"), "for {{queue}}: {{reason}}"),),
        width=8,
    ),
    Panel(
        "Evictions",
        "Jobs of a queue that lost their room in the window, by reason: Preempted, PodsReadyTimeout, Deactivated, …",
        (
            Query(
                _by_queue(_counted("kueue_evicted_workloads_total", _QUEUES, "cluster_queue", "reason")),
                "{{queue}}: {{reason}}",
            ),
        ),
        width=8,
    ),
    Panel(
        "Time to give room back",
        "From being stopped to holding nothing: saving a checkpoint takes most of it, and who preempts waits for it.",
        _waits("kueue_workload_eviction_latency_seconds"),
        unit="s",
        width=8,
    ),
)
ROWS: Mapping[str, tuple[Panel, ...]] = {
    "Now": _OVERVIEW,
    "Waiting": _WAITING,
    "GPUs": _USE,
    "Stopped": _STOPPED,
}
"""The dashboard's panels, below the headings of its rows."""
