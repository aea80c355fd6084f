"""Reconciles the Workloads of some namespaces: those that cannot start return their quota, and are retried later."""

from __future__ import annotations

import sys
import urllib.error
from collections.abc import Sequence
from datetime import datetime

from ..api import CONFLICT, NOT_FOUND, ApiServer
from . import state
from .decide import HOPEFUL, HOPELESS, KARPENTER, REFUSED, Observed, waits_since, why_stalled
from .flavors import KUEUE
from .objects import Object
from .state import Delays


def reconcile(
    api: ApiServer, namespaces: Sequence[str], now: datetime, delays: Delays, *, nodes_are_added: bool = True
) -> None:
    """Checks all Workloads once. Their annotations hold the state."""
    found = _list_workloads(api, namespaces)
    late: dict[str, list[Object]] = {}
    for namespace, workloads in found.items():
        for workload in workloads:
            if change := state.next_change(workload, now, delays):
                _patch(api, workload, change)
            elif (since := waits_since(workload)) and now - since >= delays.after:
                late.setdefault(namespace, []).append(workload)
    if not late:
        return
    pods = [one for each in found for one in _list(api, f"api/v1/namespaces/{each}/pods")]
    for namespace, workloads in late.items():
        jobs = _list(api, f"apis/batch/v1/namespaces/{namespace}/jobs")
        observed = Observed(jobs, pods, _list_events(api, namespace), nodes_are_added)
        for workload in workloads:
            if reason := why_stalled(workload, observed, now, delays.after):
                _patch(api, workload, state.return_quota(workload, reason, now, delays))


def _list_workloads(api: ApiServer, namespaces: Sequence[str]) -> dict[str, list[Object]]:
    """By namespace, without those that are refused, such as a deleted one. Raises OSError if all are."""
    found: dict[str, list[Object]] = {}
    refused: urllib.error.HTTPError | None = None
    for namespace in namespaces:
        try:
            found[namespace] = _list(api, f"{KUEUE}/namespaces/{namespace}/workloads")
        except urllib.error.HTTPError as error:
            print_error(f"{namespace}: {error}")
            refused = error
    if refused and not found:
        raise refused
    return found


def _list(api: ApiServer, path: str, query: str = "") -> list[Object]:
    # resourceVersion 0: from the API server's cache.
    items: list[Object] = api.send("GET", f"{path}?resourceVersion=0{query}")["items"]
    return items


def _list_events(api: ApiServer, namespace: str) -> list[Object]:
    """Only events of these reasons: a namespace may have thousands, most of them the scheduler's."""
    found: list[Object] = []
    for reason in (*REFUSED, *HOPELESS, *HOPEFUL):
        by = f",source={KARPENTER}" if reason == "FailedScheduling" else ""
        found += _list(api, f"api/v1/namespaces/{namespace}/events", f"&fieldSelector=reason={reason}{by}")
    return found


def _patch(api: ApiServer, workload: Object, change: Object) -> None:
    about = workload["metadata"]
    path = f"{KUEUE}/namespaces/{about['namespace']}/workloads/{about['name']}"
    try:
        api.send("PATCH", path, change)
    except urllib.error.HTTPError as error:
        # Somebody changed or deleted it; the next reconcile observes its new state.
        if error.code not in (CONFLICT, NOT_FOUND):
            print_error(f"{about['namespace']}/{about['name']}: {error}")
        return
    active = change.get("spec", {}).get("active")
    if active is None:
        return
    annotations = change["metadata"]["annotations"]
    message = "active again"
    if not active:
        message = (
            f"quota returned, next try: {annotations[state.RETRY_AT] or 'none'}: {annotations[state.RETURN_REASON]}"
        )
    print(f"{about['namespace']}/{about['name']}: {message}", flush=True)


def print_error(line: str) -> None:
    """Prints a line to stderr."""
    print(line, file=sys.stderr, flush=True)
