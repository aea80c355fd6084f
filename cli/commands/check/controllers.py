"""What the cluster's own Kueue, JobSet and Argo Workflows lack when a node is lost.

The agent of lost nodes replaces at once what the stack installed, and leaves others' controllers to Kubernetes.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import yaml

from tensorplane.components.base.problems import Note
from tensorplane.core.kube import Kube, ReadableLists
from tensorplane.stack import ResolvedStack

_DEPLOYMENTS = "/apis/apps/v1/deployments"
_CONFIGS = "/api/v1/namespaces/{}/configmaps"
_IMAGES = {"kueue": r"kueue(-rhel\d+)?", "jobset": r"jobset(-rhel\d+)?", "argo_workflows": "workflow-controller"}
"""The last part of the names of their images: of their charts, and of OpenShift's operators."""
_NAMES = {"kueue": "Kueue", "jobset": "JobSet", "argo_workflows": "Argo Workflows"}
_KEYS = {"argo_workflows": "argoWorkflows"}
_UNREACHABLE = "node.kubernetes.io/unreachable"
_DEFAULT_SECONDS, _SOON_SECONDS = 300, 60
"""How long Kubernetes leaves a pod on a lost node by default; how long no gang waits in vain."""

Object = Mapping[str, Any]


def notes(resolved: ResolvedStack, api: Kube) -> Iterator[Note]:
    """A line for each that is there and lacks something. What the user may not read lacks nothing."""
    config = resolved.config
    if config.platform or config.cluster.has_one_node or not (config.workloads or config.teams):
        return
    needed = config.controllers_of_workloads | ({"kueue"} if config.queues else set())
    present = [name for name in _IMAGES if name in needed and getattr(config.controllers, name) == "present"]
    lists = ReadableLists(api)
    there = (lists.read(_DEPLOYMENTS) or []) if present else []
    for name in present:
        for found in (one for one in there if _is_of(one, _IMAGES[name])):
            path = ("controllers", _KEYS.get(name, name))
            lacking = [*_alone(found), *(_keeps_quota(lists, found) if name == "kueue" else ())]
            about = f"{found['metadata']['namespace']}/{found['metadata']['name']}"
            yield from (Note(path, f"the cluster's {_NAMES[name]} ({about}) {each}") for each in lacking)


def _is_of(deployment: Object, image: str) -> bool:
    containers = deployment["spec"]["template"]["spec"]["containers"]
    return any(re.fullmatch(rf"(.*/)?{image}([:@].*)?", each.get("image", "")) for each in containers)


def _alone(deployment: Object) -> Iterator[str]:
    spec = deployment["spec"]
    seconds = _tolerated(spec["template"]["spec"].get("tolerations") or ())
    if spec.get("replicas", 1) == 1 and (seconds is None or seconds > _SOON_SECONDS):
        when = "nowhere else" if seconds is None else f"elsewhere {seconds:.0f} s"
        problem = f"has 1 replica, which starts {when} after its node is lost; no gang restarts meanwhile"
        yield f"{problem}; run 2 replicas, or let its pods tolerate {_UNREACHABLE} for 10 s"


def _tolerated(tolerations: Iterable[Object]) -> float | None:
    """Seconds for which a pod stays on an unreachable node; None: for ever."""
    for each in tolerations:
        if each.get("key", _UNREACHABLE) == _UNREACHABLE and each.get("effect", "NoExecute") == "NoExecute":
            return each.get("tolerationSeconds")
    return _DEFAULT_SECONDS


def _keeps_quota(lists: ReadableLists, deployment: Object) -> Iterator[str]:
    """A Kueue that does not wait for pods leaves its quota to a gang that finds no other node."""
    maps = lists.read(_CONFIGS.format(deployment["metadata"]["namespace"])) or ()
    texts = [text for one in maps for text in (one.get("data") or {}).values()]
    configurations = [found for found in map(_configuration, texts) if found]
    # Before Kueue 0.16, it could be there and be off.
    waits = [found.get("waitForPodsReady") or {"enable": False} for found in configurations]
    if configurations and not any(each.get("enable", True) for each in waits):
        problem = "has no waitForPodsReady: a gang that finds no other node when its own is lost keeps its quota"
        yield f"{problem}; set waitForPodsReady with a timeout and a recoveryTimeout in its configuration"


def _configuration(text: str) -> Object:
    """Kueue's configuration; empty if the text is another one."""
    with contextlib.suppress(yaml.YAMLError):
        found = yaml.safe_load(text)
        if isinstance(found, dict) and str(found.get("apiVersion", "")).startswith("config.kueue.x-k8s.io/"):
            return found
    return {}
