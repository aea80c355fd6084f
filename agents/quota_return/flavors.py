"""Flavors without a node that takes pods: their ResourceFlavor gets a taint until a node takes pods again.

Kueue chooses a flavor by its quota and only then looks for nodes. The quota of a flavor whose nodes are cordoned is
idle, so a job that may use it waits for it forever, instead of getting the flavor that its queue is guaranteed
(kueue#10824). A taint of the ResourceFlavor, which no pod tolerates, makes Kueue try the other flavors. Quotas stay.
"""

from __future__ import annotations

import sys
import urllib.error
from collections.abc import Mapping, Sequence
from urllib.parse import quote

from ..api import ApiServer
from .objects import Object, holds

KUEUE = "apis/kueue.x-k8s.io/v1beta2"
TAINT = "tensorplane.dev/no-nodes"
"""Key of the taint."""
UNSCHEDULABLE_TAINTS = {"tensorplane.dev/lost": "is lost", "tensorplane.dev/leaving": "is leaving"}
"""Taints by which `agents/lost_nodes` makes nodes unschedulable, in words."""
_PAGE = 20
_GPU_RESOURCE = "nvidia.com/gpu"


def reconcile(api: ApiServer, flavors: Sequence[str], cohort: str) -> None:
    """Taints the ResourceFlavors without a node that takes pods, and only these. `cohort`: lists them for Kueue."""
    out = [flavor for flavor in flavors if not _is_usable(api, flavor)]
    _have_kueue_retry(api, cohort, out)


def _is_usable(api: ApiServer, name: str) -> bool:
    path = f"{KUEUE}/resourceflavors/{name}"
    try:
        flavor = api.send("GET", path)
        taints = flavor["spec"].get("nodeTaints") or []
        is_usable = _has_usable_node(api, flavor["spec"].get("nodeLabels") or {})
        wanted = [each for each in taints if each["key"] != TAINT]
        wanted += [] if is_usable else [{"key": TAINT, "effect": "NoSchedule"}]
        if wanted != taints:
            version = {"resourceVersion": flavor["metadata"]["resourceVersion"]}
            api.send("PATCH", path, {"metadata": version, "spec": {"nodeTaints": wanted}})
            print(f"{name}: {'has a node again' if is_usable else 'none of its nodes takes pods'}", flush=True)
    except urllib.error.HTTPError as error:
        # Somebody changed or deleted it; the next reconcile observes its new state.
        print(f"{name}: {error}", file=sys.stderr, flush=True)
        return True
    return is_usable


def _has_usable_node(api: ApiServer, labels: Mapping[str, str]) -> bool:
    selector = quote(",".join(f"{key}={value}" for key, value in sorted(labels.items())))
    query = f"labelSelector={selector}&fieldSelector=spec.unschedulable%3Dfalse&limit={_PAGE}"
    following = ""
    while True:
        found = api.send("GET", f"api/v1/nodes?{query}{following}")
        if not all(map(why_unschedulable, found["items"])):
            return True
        if not (token := found["metadata"].get("continue")):
            return False
        following = f"&continue={quote(token)}"


def why_unschedulable(node: Object) -> str:
    """Why a node takes no new pods, in words; empty if it does.

    At once, and for as long as it holds: a flavor that is out of use loses no job that has it, also one whose gang is
    restarted. Only waiting jobs get another flavor, which they may use anyway.
    """
    if node["spec"].get("unschedulable"):
        return "is cordoned"
    taints = {each["key"] for each in node["spec"].get("taints") or ()}
    taint_words = next((words for key, words in UNSCHEDULABLE_TAINTS.items() if key in taints), "")
    return taint_words or ("" if holds(node, "Ready") else "is not Ready")


def _have_kueue_retry(api: ApiServer, cohort: str, out: Sequence[str]) -> None:
    """Kueue retries waiting jobs not when a taint of a flavor changes, but when a cohort of their queues does. This
    cohort has nothing but a quota of 0 of these flavors."""
    path = f"{KUEUE}/cohorts/{cohort}"
    found = api.send("GET", path)
    groups = found["spec"].get("resourceGroups") or []
    if [flavor["name"] for group in groups for flavor in group["flavors"]] != [*out]:
        version = {"resourceVersion": found["metadata"]["resourceVersion"]}
        change = {"resourceGroups": [_nothing_of(out)] if out else []}
        api.send("PATCH", path, {"metadata": version, "spec": change})


def _nothing_of(flavors: Sequence[str]) -> Object:
    none = [{"name": _GPU_RESOURCE, "nominalQuota": "0"}]
    return {"coveredResources": [_GPU_RESOURCE], "flavors": [{"name": each, "resources": none} for each in flavors]}
