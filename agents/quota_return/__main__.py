"""Watches the Workloads of these namespaces, and the nodes of the stack's flavors: `python3 -m agents.quota_return
NAMESPACE…`."""

from __future__ import annotations

import contextlib
import os
import sys
import time
import urllib.error
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime, timedelta

from agents import leader_election
from agents.api import CONFLICT, NOT_FOUND, ApiServer
from agents.quota_return import flavors, state
from agents.quota_return.decide import HOPEFUL, HOPELESS, KARPENTER, REFUSED, Seen, stalled, waits_since
from agents.quota_return.flavors import KUEUE
from agents.quota_return.objects import Object
from agents.quota_return.state import Pace


def look(
    server: ApiServer, namespaces: Sequence[str], now: datetime, pace: Pace, *, nodes_are_added: bool = True
) -> None:
    """Check all Workloads once. The state is in their annotations."""
    found = _workloads(server, namespaces)
    late: dict[str, list[Object]] = {}
    for namespace, workloads in found.items():
        for workload in workloads:
            if change := state.due(workload, now, pace):
                _patch(server, workload, change)
            elif (since := waits_since(workload)) and now - since >= pace.after:
                late.setdefault(namespace, []).append(workload)
    if not late:
        return
    pods = [one for each in found for one in _list(server, f"api/v1/namespaces/{each}/pods")]
    for namespace, workloads in late.items():
        jobs = _list(server, f"apis/batch/v1/namespaces/{namespace}/jobs")
        seen = Seen(jobs, pods, _events(server, namespace), nodes_are_added)
        for workload in workloads:
            if reason := stalled(workload, seen, now, pace.after):
                _patch(server, workload, state.give_back(workload, reason, now, pace))


def _workloads(server: ApiServer, namespaces: Sequence[str]) -> dict[str, list[Object]]:
    """By namespace. One that was deleted is skipped. Raises OSError if all are refused."""
    found: dict[str, list[Object]] = {}
    refused: urllib.error.HTTPError | None = None
    for namespace in namespaces:
        try:
            found[namespace] = _list(server, f"{KUEUE}/namespaces/{namespace}/workloads")
        except urllib.error.HTTPError as error:
            _report_error(f"{namespace}: {error}")
            refused = error
    if refused and not found:
        raise refused
    return found


def _list(server: ApiServer, path: str, query: str = "") -> list[Object]:
    # resourceVersion 0: from the API server's cache.
    items: list[Object] = server.send("GET", f"{path}?resourceVersion=0{query}")["items"]
    return items


def _events(server: ApiServer, namespace: str) -> list[Object]:
    """Only events of these reasons: a namespace may have thousands, most of them the scheduler's."""
    found: list[Object] = []
    for reason in (*REFUSED, *HOPELESS, *HOPEFUL):
        by = f",source={KARPENTER}" if reason == "FailedScheduling" else ""
        found += _list(server, f"api/v1/namespaces/{namespace}/events", f"&fieldSelector=reason={reason}{by}")
    return found


def _patch(server: ApiServer, workload: Object, change: Object) -> None:
    about = workload["metadata"]
    path = f"{KUEUE}/namespaces/{about['namespace']}/workloads/{about['name']}"
    try:
        server.send("PATCH", path, change)
    except urllib.error.HTTPError as error:
        # Somebody changed or deleted it; the next check sees its new state.
        if error.code not in (CONFLICT, NOT_FOUND):
            _report_error(f"{about['namespace']}/{about['name']}: {error}")
        return
    active = change.get("spec", {}).get("active")
    if active is None:
        return
    annotations = change["metadata"]["annotations"]
    what = "active again"
    if not active:
        what = f"quota returned, next try: {annotations[state.AGAIN] or 'none'}: {annotations[state.REASON]}"
    print(f"{about['namespace']}/{about['name']}: {what}", flush=True)


def _report_error(what: str) -> None:
    print(what, file=sys.stderr, flush=True)


def _seconds(name: str, default: float) -> float:
    return float(os.environ.get(name) or default)


def main(namespaces: Sequence[str]) -> None:
    """Check until the process is killed, which is safe at any moment."""
    standard = Pace()
    pace = Pace(
        after=timedelta(seconds=_seconds("SECONDS_TO_START", standard.after.total_seconds())),
        first=timedelta(seconds=_seconds("SECONDS_TO_TRY_AGAIN", standard.first.total_seconds())),
    )
    nodes_are_added = os.environ.get("NODES_ARE_ADDED") != "false"
    flavor_names, cohort = (os.environ.get("FLAVORS") or "").split(), os.environ.get("COHORT") or ""
    lead = leader_election.begin()
    every: list[Callable[[], None]] = [
        # Flavors of autoscaled groups are not among them: they get nodes.
        *([lambda: flavors.look(lead.server, flavor_names, cohort)] if flavor_names else []),
        lambda: look(lead.server, namespaces, datetime.now(UTC), pace, nodes_are_added=nodes_are_added),
    ]
    while True:
        # Until the next turn, Kueue's own time limit holds.
        with contextlib.suppress(OSError), lead.turn():
            _attempt(every)
        time.sleep(_seconds("SECONDS_BETWEEN_LOOKS", 15))


def _attempt(actions: Iterable[Callable[[], None]]) -> None:
    """All of them. Raises the last OSError of one."""
    failed: OSError | None = None
    for action in actions:
        try:
            action()
        except OSError as error:
            _report_error(f"{type(error).__name__}: {error}")
            failed = error
    if failed:
        raise failed


if __name__ == "__main__":
    main(sys.argv[1:])
