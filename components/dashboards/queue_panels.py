"""The panels of the queues' dashboard, with queries of Kueue's metrics."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from tensorplane.components.catalog import GPU_RESOURCE

Step = tuple[float | None, str]


@dataclass(frozen=True)
class Query:
    """A PromQL query and the legend of its series."""

    promql: str
    legend: str


@dataclass(frozen=True)
class Panel:
    """One panel of the dashboard."""

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
    """The value of a gauge. All replicas of Kueue export it, so it is not summed over them."""
    return f"max by ({', '.join(by)}) ({metric}{{{selector}}})"


def _count(metric: str, selector: str, *by: str) -> str:
    """The increase of a counter in the window. A series that began within the window counts from 0: Kueue exports a
    counter after its first event, and `increase` ignores the first value."""
    series = f"{metric}{{{selector}}}"
    known, new = (
        f"(increase({series}[$window]) and {series} offset $window)",
        f"({series} unless {series} offset $window)",
    )
    return f"sum by ({', '.join(by)}) ({known} or {new})"


def _quantile(share: float, histogram: str, selector: str, *by: str) -> str:
    return f"histogram_quantile({share:g}, {_count(f'{histogram}_bucket', selector, 'le', *by)})"


def _short(promql: str, **labels: str) -> str:
    """The query with names as in the settings, without the stack's prefix: `new_label="label"`."""
    for label, long in labels.items():
        promql = f'label_replace({promql}, "{label}", "$1", "{long}", "$stack-(.+)")'
    return promql


def _by_queue(promql: str) -> str:
    return _short(promql, queue="cluster_queue")


def _flavors(promql: str) -> str:
    """Rows of the table, by queue and flavor only, so that Grafana merges the rows of several queries."""
    return f"sum by (queue, accelerator) ({_short(promql, queue='cluster_queue', accelerator='flavor')})"


def _by_namespace(metric: str) -> str:
    """By the namespace of LocalQueues. Most scrape configurations set `namespace` to Kueue's own, and rename Kueue's
    label to `exported_namespace`."""
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
_PREEMPTED = _count("kueue_preempted_workloads_total", _PREEMPTING, "preempting_cluster_queue", "reason")

_OVERVIEW = (
    Panel(
        "Jobs waiting",
        "Jobs in a queue that are not admitted yet.",
        (Query(f"sum({_PENDING})", "waiting"),),
        kind="stat",
        width=6,
        height=4,
        thresholds=((None, "green"), (1, "yellow"), (50, "red")),
    ),
    Panel(
        "Longest wait, p95",
        "95 % of the jobs admitted in the window waited less, in the queue with the longest waits.",
        (Query(f"max({_quantile(0.95, _WAIT, _QUEUES, 'cluster_queue')} >= 0)", "p95"),),
        unit="s",
        kind="stat",
        width=6,
        height=4,
        thresholds=((None, "green"), (600, "yellow"), (3600, "red")),
    ),
    Panel(
        "GPUs in use",
        "Share of the nominal quotas that admitted jobs use. At 100 % a new job waits or preempts another.",
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
        "Jobs preempted in the window. They continue from their last checkpoint.",
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
        "Time from creation to admission, by queue: median (p50) and 95th percentile (p95).",
        _waits(_WAIT),
        unit="s",
        thresholds=((None, "transparent"), (3600, "red")),
    ),
    Panel(
        "Pending jobs",
        "By queue and status. Kueue tries active jobs next; inadmissible ones wait until quota or nodes change.",
        (Query(_by_queue(_PENDING), "{{queue}} {{status}}"),),
        decimals=0,
    ),
    Panel(
        "Time to pods ready",
        "Time from admission until all pods are ready, with node startup and image pulls. After 20 minutes Kueue "
        "evicts the job and queues it again.",
        _waits("kueue_admitted_until_ready_wait_time_seconds"),
        unit="s",
        thresholds=((None, "transparent"), (1200, "red")),
    ),
    Panel(
        "Admitted jobs",
        "Jobs that hold quota, by queue.",
        (Query(_by_queue(_now("kueue_admitted_active_workloads", _QUEUES, "cluster_queue")), "{{queue}}"),),
        decimals=0,
    ),
)
_USE = (
    Panel(
        "GPUs by queue and accelerator",
        "Guaranteed (nominal) quota, what the queue's jobs use, how much of that is borrowed, and how much of its own "
        "quota is idle or lent.",
        (
            Query(_flavors(_QUOTA), "quota"),
            Query(_flavors(_USED), "used"),
            Query(_flavors(_BORROWED), "borrowed"),
            Query(_flavors(_UNUSED), "idle or lent"),
        ),
        kind="table",
        decimals=0,
    ),
    Panel(
        "Usage by accelerator",
        "Share of the nominal quotas of an accelerator that admitted jobs use, borrowed quota included.",
        (
            Query(
                _short(f"sum by (flavor) ({_USED}) / (sum by (flavor) ({_QUOTA}) > 0)", accelerator="flavor"),
                "{{accelerator}}",
            ),
        ),
        unit="percentunit",
        kind="bargauge",
        decimals=0,
        thresholds=((None, "green"), (0.9, "yellow"), (1, "red")),
    ),
    Panel(
        "GPUs borrowed",
        "Beyond a queue's nominal quota, by queue and accelerator. The owner can reclaim them by preemption.",
        (Query(_short(_BORROWED, queue="cluster_queue", accelerator="flavor"), "{{queue}} {{accelerator}}"),),
        decimals=0,
    ),
    Panel(
        "GPUs lent",
        "By accelerator: the sum of what queues borrow.",
        (Query(_short(f"sum by (flavor) ({_BORROWED})", accelerator="flavor"), "{{accelerator}}"),),
        decimals=0,
    ),
    Panel(
        "GPUs by namespace",
        "GPUs that admitted jobs use, by namespace of the stack and its teams.",
        (Query(_by_namespace("kueue_local_queue_resource_usage"), "{{queues_in}}"),),
        decimals=0,
    ),
    Panel(
        "GPUs that pending jobs request",
        "By queue, over all accelerators.",
        (Query(_by_queue(_now("kueue_cluster_queue_resource_pending", _GPUS, "cluster_queue")), "{{queue}}"),),
        decimals=0,
    ),
)
_STOPPED = (
    Panel(
        "Preemptions",
        "Jobs preempted in the window, by preempting queue and reason: InClusterQueue for a job of higher priority, "
        "InCohortReclamation to reclaim lent quota, InCohortFairSharing by weight.",
        (Query(_short(_PREEMPTED, queue="preempting_cluster_queue"), "for {{queue}}: {{reason}}"),),
        width=8,
    ),
    Panel(
        "Evictions",
        "Jobs evicted in the window, by queue and reason: Preempted, PodsReadyTimeout, Deactivated, …",
        (
            Query(
                _by_queue(_count("kueue_evicted_workloads_total", _QUEUES, "cluster_queue", "reason")),
                "{{queue}}: {{reason}}",
            ),
        ),
        width=8,
    ),
    Panel(
        "Time to release quota",
        "Time from eviction until the job releases its quota, mostly to save a checkpoint; the preempting job waits.",
        _waits("kueue_workload_eviction_latency_seconds"),
        unit="s",
        width=8,
    ),
)
ROWS: Mapping[str, tuple[Panel, ...]] = {
    "Now": _OVERVIEW,
    "Waiting": _WAITING,
    "GPUs": _USE,
    "Preempted and evicted": _STOPPED,
}
"""The dashboard's panels, by the titles of its rows."""
