"""Counts the GPU-seconds of Workloads: `python3 -m agents.usage STACK_NAMESPACE NAMESPACE…`."""

from __future__ import annotations

import os
import sys
import time
import urllib.error
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from agents import leader_election
from agents.api import CONFLICT, NOT_FOUND, ApiServer
from agents.usage import state, workload
from agents.usage.state import PREFIX, Record

KUEUE = "apis/kueue.x-k8s.io/v1beta2"
_LABELS = {
    "app.kubernetes.io/component": "usage",
    "app.kubernetes.io/name": "queue.usage",
    "app.kubernetes.io/part-of": "tensorplane",
}


def look(server: ApiServer, home: str, namespaces: Sequence[str], now: datetime) -> None:
    """Bring the record of each namespace up to date. `home`: the namespace that has the records. Raises OSError if all
    are refused.
    """
    refused: list[urllib.error.HTTPError] = []
    for namespace in namespaces:
        try:
            _count(server, home, namespace, now)
        except urllib.error.HTTPError as error:
            # Another process wrote it, or the namespace is not there yet: the next look counts what this one has not.
            if error.code not in (CONFLICT, NOT_FOUND):
                _report_error(f"{namespace}: {error}")
                refused.append(error)
    if refused and len(refused) == len(namespaces):
        raise refused[-1]


def _count(server: ApiServer, home: str, namespace: str, now: datetime) -> None:
    at = f"api/v1/namespaces/{home}/configmaps"
    kept = _kept(server, f"{at}/{PREFIX}{namespace}")
    # Not from the API server's cache: what it does not list is forgotten, and would be counted again.
    listed = server.send("GET", f"{KUEUE}/namespaces/{namespace}/workloads")["items"]
    held = [one for thing in listed if (one := workload.of(thing, now))]
    before = Record.read((kept or {}).get("data") or {})
    after = state.counted(before, held)
    if kept is None:
        about = {"name": f"{PREFIX}{namespace}", "namespace": home, "labels": _LABELS}
        server.send("POST", at, {"metadata": about, "data": after.written()})
    elif after != before:
        version = {"resourceVersion": kept["metadata"]["resourceVersion"]}
        server.send("PATCH", f"{at}/{PREFIX}{namespace}", {"metadata": version, "data": after.written()})


def _kept(server: ApiServer, path: str) -> Any:
    try:
        return server.send("GET", path)
    except urllib.error.HTTPError as error:
        if error.code == NOT_FOUND:
            return None
        raise


def _report_error(what: str) -> None:
    print(what, file=sys.stderr, flush=True)


def main(home: str, namespaces: Sequence[str]) -> None:
    """Count until the process is killed, which is safe at any moment."""
    lead = leader_election.begin()
    seconds = float(os.environ.get("SECONDS_BETWEEN_LOOKS") or 30)
    while True:
        try:
            with lead.turn():
                look(lead.server, home, namespaces, datetime.now(UTC))
        except OSError as error:
            _report_error(f"{type(error).__name__}: {error}")
        time.sleep(seconds)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
