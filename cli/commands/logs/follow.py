"""Follows the logs of a job's pods until the job has ended: those of pods that restart or start later, too."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Iterable, Mapping

from rich.console import Console

from tensorplane.cli.api_values import Object
from tensorplane.cli.commands.logs import lines, messages, pods
from tensorplane.cli.commands.logs.pods import LogsOptions, Source
from tensorplane.cli.training_jobs import jobset_api
from tensorplane.core.errors import UserError
from tensorplane.core.kube import Kube
from tensorplane.driver.runs import published
from tensorplane.driver.runs.job_set import JobSet

_LOOK_SECONDS = 0.5
"""How often to look for new pods and for the end of the job."""
_SETTLE_SECONDS = 3.0
"""How long lines may come after the job has ended."""

_Line = tuple[tuple[str, int], str]


def until_end(api: Kube, job_set: Object, options: LogsOptions, console: Console) -> None:
    """Prints lines as they come, then how the job ended. A UserError if it failed."""
    path = jobset_api.path(job_set)
    followed, ended = Followed(api, options, console), False
    while not ended:
        if (found := api.get(path)) is None:
            raise UserError(f"{job_set['metadata']['name']}: was deleted")
        current = found
        ended = bool(jobset_api.outcome(current))
        there = jobset_api.pods(api, current)
        started = [pod for pod in pods.chosen(there, options) if pods.has_started(pod)]
        followed.go_on(map(pods.source, started), lines.wide(map(jobset_api.role_and_index, there)))
    followed.settle()
    _tell_end(current, there, console)


def _tell_end(job_set: Object, there: list[Object], console: Console) -> None:
    name = job_set["metadata"]["name"]
    if jobset_api.outcome(job_set) == "failed":
        messages.reason(job_set, there, console)
        raise UserError(f"{name}: failed")
    console.print(f"{name}: finished{_model(job_set, there)}", style="bold green", highlight=False, soft_wrap=True)


def _model(job_set: Object, there: list[Object]) -> str:
    """Where the model is that it has published."""
    of_run = JobSet(job_set)
    model, folder = published.find(there), of_run.value("MODEL_DIR")
    if not (model and folder):
        return ""
    to = f", published to {of_run.publish_to}" if of_run.publish_to else ""
    return f"; model version {model.version.rpartition('/')[2]} in {folder}{to}"


class Followed:
    """Reads each log on a thread of its own, and prints the lines of all as they come."""

    def __init__(self, api: Kube, options: LogsOptions, console: Console) -> None:
        self._api, self._choice, self._console = api, options, console
        self._threads: dict[tuple[str, str], threading.Thread] = {}
        self._came: queue.SimpleQueue[_Line] = queue.SimpleQueue()
        self._prefixes = lines.Prefixes(0)
        self._printed: set[tuple[str, int]] = set()

    def tell(self, of_members: Mapping[tuple[str, int], str]) -> None:
        """Prints messages that no pod printed, once by member, with the lines that come."""
        for member, text in of_members.items():
            if member not in self._printed:
                self._printed.add(member)
                self._came.put((member, text))

    def go_on(self, started: Iterable[Source], wide: int) -> None:
        """Follows those that are not followed yet, and prints what comes for a moment. `wide`: of the prefixes."""
        self._prefixes.widen(wide)
        for source in started:
            if source.key not in self._threads:
                self._threads[source.key] = threading.Thread(target=self._read, args=(source,), daemon=True)
                self._threads[source.key].start()
        self._print(_LOOK_SECONDS)

    def settle(self) -> None:
        """Prints what comes after the end."""
        end = time.monotonic() + _SETTLE_SECONDS
        while any(thread.is_alive() for thread in self._threads.values()) and time.monotonic() < end:
            self._print(_LOOK_SECONDS)
        self._print(0)

    def _read(self, source: Source) -> None:
        for line in source.follow(self._api, self._choice.query):
            self._came.put((source.role_and_index, line))

    def _print(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while True:
            try:
                member, text = self._came.get(timeout=max(0.0, end - time.monotonic()))
            except queue.Empty:
                return
            self._console.print(self._prefixes.line(member, text), soft_wrap=True)
