"""Tells a worker that no longer answers from other failures: one line names it, and the gang restarts for free.

TensorFlow's coordination service, which `MultiWorkerMirroredStrategy` starts in every process, sends heartbeats from a
thread of its own. A worker that is stopped or cut off is noticed after about ten seconds, whatever the others do:
compiling, saving and evaluation do not hold up that thread. The collective operations of all others then fail, and so
do those of the silent worker when it wakes up. This module turns their errors into an end of the process.

A silent worker is more often the fault of a node than of the code, so the exit code is the one of a disruption: it does
not count against `maxRestarts`. If its node dies, its connections may also be closed at once: then a worker is silent
if its machine does not answer. A worker that ended by itself is not silent, and its machine refuses connections; its
own exit code decides.
"""

from __future__ import annotations

import json
import os
import re
import socket
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from types import TracebackType

from tensorplane.stop import EXIT_SAVED

EXIT_SILENT = EXIT_SAVED
"""Exit code if another worker does not answer: a disruption, as for a pod that was asked to stop."""
_STOPPED = re.compile(r"unhealthy \(stopped sending heartbeats\)")
_ANSWER_SECONDS = 3
"""Within which a machine in the same cluster answers."""
_TASK = re.compile(r"/job:(\w+)/(?:replica:\d+/)?task:(\d+)")
_LEADER = re.compile(r"Deadline Exceeded.*CoordinationService/Heartbeat", re.DOTALL)
"""What the others get if the silent worker is the first, in which the service runs."""


def silent(message: str) -> str | None:
    """The task that a TensorFlow error reports as silent, such as `worker 1`; None for any other error."""
    if found := _STOPPED.search(message):
        task = _TASK.search(message, found.end())
        return f"{task.group(1)} {task.group(2)}" if task else "a worker"
    return "the first worker" if _LEADER.search(message) else None


@contextmanager
def watched(environment: Mapping[str, str] = os.environ) -> Iterator[None]:
    """In this block, an error about a silent worker ends the process with one line and EXIT_SILENT."""
    try:
        yield
    except Exception as error:
        _end_if_silent(error, environment)
        raise


@cache
def watch_uncaught() -> None:
    """From now on, such an error also ends the process so if nothing catches it: for callbacks, which are no block."""
    report = sys.excepthook

    def end_or_report(kind: type[BaseException], error: BaseException, at: TracebackType | None) -> None:
        _end_if_silent(error, os.environ)
        report(kind, error, at)

    sys.excepthook = end_or_report


def _end_if_silent(error: BaseException, environment: Mapping[str, str]) -> None:
    import tensorflow as tf

    passing = (tf.errors.UnavailableError, tf.errors.DeadlineExceededError, tf.errors.AbortedError)
    if not isinstance(error, passing) or (task := silent(str(error)) or unreachable(environment)) is None:
        return
    who = _with_address(task, environment)
    print(
        f"tensorplane: {who} does not answer; the gang restarts from the last checkpoint", file=sys.stderr, flush=True
    )
    # TensorFlow's own end would wait for the silent worker.
    sys.stdout.flush()
    os._exit(EXIT_SILENT)


def answers(address: str) -> bool:
    """Whether a machine answers at `host:port`, also if nothing listens there; True if the host's name is not known."""
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host, int(port)), _ANSWER_SECONDS).close()
    except (ConnectionRefusedError, socket.gaierror):
        return True
    except OSError:
        return False
    return True


def unreachable(environment: Mapping[str, str], answers: Callable[[str], bool] = answers) -> str | None:
    """A task of TF_CONFIG, such as `worker 1`, whose machine does not answer; None if all do."""
    config = json.loads(environment.get("TF_CONFIG") or "{}")
    own = config.get("task", {})
    for kind, addresses in config.get("cluster", {}).items():
        for index, address in enumerate(addresses):
            if (kind, index) != (own.get("type"), own.get("index")) and not answers(address):
                return f"{kind} {index}"
    return None


def _with_address(task: str, environment: Mapping[str, str]) -> str:
    """The task with its address in TF_CONFIG."""
    cluster = json.loads(environment.get("TF_CONFIG") or "{}").get("cluster", {})
    first = "chief" if "chief" in cluster else "worker"
    kind, _, index = (f"{first} 0" if task == "the first worker" else task).partition(" ")
    hosts = cluster.get(kind, [])
    return f"{kind} {index} ({hosts[int(index)]})" if index.isdecimal() and int(index) < len(hosts) else task
