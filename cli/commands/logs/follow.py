"""Follows the logs of a job's pods until the job has ended: those of pods that restart or start later, too."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable

from rich.console import Console

from cli.api_values import Object
from cli.commands.logs import around, lines, pods
from cli.commands.logs.pods import Choice
from cli.jobs import in_cluster
from driver.kube import Kube
from driver.runs import published
from driver.runs.job_set import JobSet
from embedded.fault import Fault

_LOOK_SECONDS = 0.5
"""How often to look for new pods and for the end of the job."""
_SETTLE_SECONDS = 3.0
"""How long lines may come after the job has ended."""

_Line = tuple[tuple[str, int], str]


def until_end(api: Kube, job_set: Object, choice: Choice, console: Console) -> None:
    """Prints lines as they come, then how the job ended. A Fault if it failed."""
    path = in_cluster.path(job_set)
    came: queue.SimpleQueue[_Line] = queue.SimpleQueue()
    followed = _Followed(api, choice, came.put)
    prefixes, ended = lines.Prefixes(0), False
    while not ended:
        if (found := api.get(path)) is None:
            raise Fault(f"{job_set['metadata']['name']}: was deleted")
        current = found
        ended = bool(in_cluster.ended(current))
        there = in_cluster.pods(api, current)
        prefixes.widen(around.wide(map(pods.place, there)))
        followed.start([pod for pod in pods.chosen(there, choice) if pods.has_started(pod)])
        _print(came, console, prefixes, _LOOK_SECONDS)
    end = time.monotonic() + _SETTLE_SECONDS
    while followed.is_reading and time.monotonic() < end:
        _print(came, console, prefixes, _LOOK_SECONDS)
    _print(came, console, prefixes, 0)
    _tell_end(current, there, console)


def _print(came: queue.SimpleQueue[_Line], console: Console, prefixes: lines.Prefixes, seconds: float) -> None:
    """Prints what comes within that time."""
    end = time.monotonic() + seconds
    while True:
        try:
            place, text = came.get(timeout=max(0.0, end - time.monotonic()))
        except queue.Empty:
            return
        console.print(prefixes.line(place, text), soft_wrap=True)


def _tell_end(job_set: Object, there: list[Object], console: Console) -> None:
    name = job_set["metadata"]["name"]
    if in_cluster.ended(job_set) == "failed":
        around.reason(job_set, there, console)
        raise Fault(f"{name}: failed")
    console.print(f"{name}: finished{_model(job_set, there)}", style="bold green", highlight=False, soft_wrap=True)


def _model(job_set: Object, there: list[Object]) -> str:
    """Where the model is that it has published."""
    model, folder = published.of(there), JobSet(job_set).value("MODEL_DIR")
    return f"; model version {model.version.rpartition('/')[2]} in {folder}" if model and folder else ""


class _Followed:
    """Reads the log of each container on a thread of its own."""

    def __init__(self, api: Kube, choice: Choice, take: Callable[[_Line], None]) -> None:
        self._api, self._choice, self._take = api, choice, take
        self._threads: dict[tuple[str, int], threading.Thread] = {}

    @property
    def is_reading(self) -> bool:
        return any(thread.is_alive() for thread in self._threads.values())

    def start(self, started: list[Object]) -> None:
        """Follows those containers that are not followed yet; a restarted container is another one."""
        for pod in started:
            statuses = pod["status"].get("containerStatuses") or ()
            key = pod["metadata"]["uid"], sum(int(each.get("restartCount", 0)) for each in statuses)
            if key not in self._threads:
                self._threads[key] = threading.Thread(target=self._read, args=(pod,), daemon=True)
                self._threads[key].start()

    def _read(self, pod: Object) -> None:
        about = pod["metadata"]
        path = f"/api/v1/namespaces/{about['namespace']}/pods/{about['name']}/log"
        place = pods.place(pod)
        for line in self._api.lines(path, **self._choice.query, follow="true"):
            self._take((place, line))
