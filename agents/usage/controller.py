"""Reconciles the recorded usage of some namespaces with the Workloads that they have."""

from __future__ import annotations

import sys
import urllib.error
from collections.abc import Sequence
from datetime import datetime

from ..api import CONFLICT, NOT_FOUND, ApiServer
from . import state, workload
from .state import PREFIX, UsageState

KUEUE = "apis/kueue.x-k8s.io/v1beta2"
_LABELS = {
    "app.kubernetes.io/component": "usage",
    "app.kubernetes.io/name": "queue.usage",
    "app.kubernetes.io/part-of": "tensorplane",
}


def reconcile(api: ApiServer, home: str, namespaces: Sequence[str], now: datetime) -> None:
    """Brings the usage of each namespace up to date. `home`: the namespace that has the ConfigMaps.

    Raises OSError if all are refused.
    """
    refused: list[urllib.error.HTTPError] = []
    for namespace in namespaces:
        try:
            _count(api, home, namespace, now)
        except urllib.error.HTTPError as error:
            # Another process wrote it, or the namespace does not exist yet: the next reconcile counts its usage.
            if error.code not in (CONFLICT, NOT_FOUND):
                print(f"{namespace}: {error}", file=sys.stderr, flush=True)
                refused.append(error)
    if refused and len(refused) == len(namespaces):
        raise refused[-1]


def _count(api: ApiServer, home: str, namespace: str, now: datetime) -> None:
    at = f"api/v1/namespaces/{home}/configmaps"
    found = api.find(f"{at}/{PREFIX}{namespace}")
    # Not from the API server's cache: what it does not list is forgotten, and would be counted again.
    items = api.send("GET", f"{KUEUE}/namespaces/{namespace}/workloads")["items"]
    held = [one for thing in items if (one := workload.read_usage(thing, now))]
    before = UsageState.from_data((found or {}).get("data") or {})
    after = state.count(before, held)
    if found is None:
        about = {"name": f"{PREFIX}{namespace}", "namespace": home, "labels": _LABELS}
        api.send("POST", at, {"metadata": about, "data": after.to_data()})
    elif after != before:
        version = {"resourceVersion": found["metadata"]["resourceVersion"]}
        api.send("PATCH", f"{at}/{PREFIX}{namespace}", {"metadata": version, "data": after.to_data()})
