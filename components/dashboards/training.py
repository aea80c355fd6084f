"""The Grafana dashboard of a stack's training jobs: speed, loss, wait for input, restarts, and use of GPUs.

Its panels show metrics of tensorplane's library, and of GPUs by NVIDIA's DCGM."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pulumi

from tensorplane.components.base import names
from tensorplane.components.dashboards import queues
from tensorplane.components.dashboards.queue_panels import Panel, Query

if TYPE_CHECKING:
    from tensorplane.components.namespace.component import Namespace

_PODS = 'namespace=~"$namespace", pod=~"$job-.*"'
_RATE = "$__rate_interval"


def _of_job(promql: str) -> str:
    """By job instead of by pod: RUN-ROLE-0-0-SUFFIX."""
    return f'label_replace({promql}, "run", "$1", "pod", "(.+)-[a-z]+-[0-9]+-[0-9]+-[a-z0-9]+")'


def _gauge(metric: str, how: str) -> str:
    return f"{how} by (run) ({_of_job(f'{metric}{{{_PODS}}}')})"


def _rate(metric: str, how: str) -> str:
    return f"{how} by (run) ({_of_job(f'rate({metric}{{{_PODS}}}[{_RATE}])')})"


def _gpus(metric: str) -> str:
    """By pod. Unless a scrape configuration honors labels, Prometheus renames those of DCGM that name the pod."""
    found = (
        f'label_replace({metric}{{{prefix}namespace=~"$namespace", {prefix}pod=~"$job-.*"}}, '
        f'"trains", "$1", "{prefix}pod", "(.+)")'
        for prefix in ("exported_", "")
    )
    return f"avg by (trains, gpu) ({' or '.join(found)})"


_STEPS = _rate("tensorplane_step_seconds_count", "max")
_SPEED = (
    Panel(
        "Steps per second",
        "Of each run. Workers of a synchronous run make the same steps, so the number of the fastest is the run's.",
        (Query(_rate("tensorplane_steps_total", "max"), "{{run}}"),),
    ),
    Panel(
        "Examples per second",
        "Of all workers together, under `fit`.",
        (Query(_gauge("tensorplane_examples_per_second", "max"), "{{run}}"),),
    ),
    Panel(
        "Share of time that waits for input",
        "Of the worker that waits longest. If it is high, the input pipeline limits the speed, and GPUs idle.",
        (Query(_rate("tensorplane_input_wait_seconds_total", "max"), "{{run}}"),),
        unit="percentunit",
        thresholds=((None, "transparent"), (0.1, "red")),
    ),
    Panel(
        "Duration of a step",
        "Mean, with its wait for input, of the slowest worker.",
        (Query(f"{_rate('tensorplane_step_seconds_sum', 'max')} / ({_STEPS} > 0)", "{{run}}"),),
        unit="s",
    ),
)
_PROGRESS = (
    Panel("Loss", "Of the last reported step.", (Query(_gauge("tensorplane_loss", "avg"), "{{run}}"),)),
    Panel(
        "Last step",
        "Last completed step of the run.",
        (Query(_gauge("tensorplane_step", "max"), "{{run}}"),),
        decimals=0,
    ),
    Panel(
        "Restarts",
        "Starts of the run's gang before this one.",
        (Query(_gauge("tensorplane_restarts", "max"), "{{run}}"),),
        decimals=0,
    ),
    Panel(
        "Share of time that saves checkpoints",
        "Time for which a save halts training.",
        (Query(_rate("tensorplane_checkpoint_seconds_sum", "max"), "{{run}}"),),
        unit="percentunit",
        thresholds=((None, "transparent"), (0.05, "red")),
    ),
)
_GPUS = (
    Panel(
        "GPU utilization",
        "Share of time in which a kernel runs, of each GPU of a pod.",
        (Query(f"{_gpus('DCGM_FI_DEV_GPU_UTIL')} / 100", "{{trains}} GPU {{gpu}}"),),
        unit="percentunit",
    ),
    Panel(
        "GPU memory in use",
        "TensorFlow takes almost all of it at its start, unless memory growth is on.",
        (Query(f"{_gpus('DCGM_FI_DEV_FB_USED')} * 1048576", "{{trains}} GPU {{gpu}}"),),
        unit="bytes",
    ),
    Panel(
        "GPU power",
        "Draw of each GPU: busy GPUs that draw little wait for memory or for other GPUs.",
        (Query(_gpus("DCGM_FI_DEV_POWER_USAGE"), "{{trains}} GPU {{gpu}}"),),
        unit="watt",
    ),
    Panel(
        "Last XID error",
        "Of NVIDIA's driver; 0 for none. Codes such as 48, 63, 79 and 94 mean broken hardware.",
        (Query(_gpus("DCGM_FI_DEV_XID_ERRORS"), "{{trains}} GPU {{gpu}}"),),
        decimals=0,
    ),
)
ROWS: Mapping[str, tuple[Panel, ...]] = {"Speed": _SPEED, "Progress": _PROGRESS, "GPUs": _GPUS}
"""The dashboard's panels, by the titles of its rows."""


def declare(namespaces: Sequence[str], namespace: Namespace, opts: pulumi.ResourceOptions) -> pulumi.Resource:
    """Creates the dashboard as a ConfigMap. `namespaces`: those with jobs of the stack."""
    return queues.config_map("training", of(namespace.plain_name, namespaces), namespace, opts)


def of(stack: str, namespaces: Sequence[str]) -> dict[str, Any]:
    """The dashboard in Grafana's classic model; it only changes with the settings."""
    job: dict[str, Any] = {
        "name": "job",
        "label": "Job",
        "type": "query",
        "datasource": queues.SOURCE,
        # Names of pods without the end that differs between the starts of a run.
        "query": {"query": 'label_values(tensorplane_step{namespace=~"$namespace"}, pod)', "refId": "job"},
        "regex": "/(.+)-[a-z]+-[0-9]+-[0-9]+-[a-z0-9]+/",
        "current": {"text": ["All"], "value": ["$__all"], "selected": True},
        "multi": True,
        "includeAll": True,
        "refresh": 2,
        "hide": 0,
    }
    return queues.model(
        f"training-{names.digest(stack, 12)}",
        f"Training of {stack}",
        "Speed, loss, wait for input and restarts of training jobs, and use of GPUs; generated by tensorplane.",
        "training",
        (queues.choice("namespace", "Namespace", namespaces, several=True), job),
        ROWS,
    )
