"""The objects of one rollout in the cluster: Deployments with their model config files, routes, state and Events."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .. import events
from ..api import ApiServer
from ..state import ConfigMapState
from . import routes
from .decide import Track
from .state import RolloutDecision, RolloutState

MANAGER = "tensorplane-rollout"
TRACK = "tensorplane.dev/track"
"""Label of the canary's pods, and with a Gateway of the stable ones."""
STABLE, CANARY = "stable", "canary"
ADMITTED = "tensorplane.dev/admitted"
"""Readiness gate of the canary's pods: they get no requests before their version was compared with the stable one."""
STATE_KEY = "rollout.json"
"""The key of the state in its ConfigMap."""
_FILE = "models.config"
_VERSION = "tensorplane.dev/version"
"""Annotation of a model config file and of the pods that have read it: the version, or `newest`."""
_NEWEST_VERSION = "newest"
_PORT = 8501
_MOST_RESTARTS = 3


@dataclass(frozen=True)
class PodStatus:
    """One pod of the server."""

    name: str
    address: str
    """HOST:PORT of its REST API; empty without an IP address."""
    canary: bool
    labelled: bool
    """Whether it has the label of its track."""
    ready: bool
    started: bool
    """Whether its server answers, whether or not it gets requests yet."""
    admitted: bool
    """Whether its readiness gate is open."""
    failed: str
    """Why its container keeps ending; empty if it does not."""
    annotated: str
    """The version that its annotation names."""


@dataclass
class Cluster:
    """One server's objects in its namespace."""

    api: ApiServer
    namespace: str
    name: str
    """The server's."""
    config: str
    """Text of the model config file, with a placeholder for the version."""
    placeholder: str
    newest: str
    """Text of the model config file that names no version."""
    routes: Mapping[str, int] = field(default_factory=dict)
    """The port of the server to which each route of a Gateway leads, by the route's kind."""
    _models: dict[bool, str] = field(default_factory=dict)
    """The resourceVersion at which `get_track` read each model config file, by whether it is the canary's."""

    def __post_init__(self) -> None:
        self._state = ConfigMapState(self.api, self.namespace, f"{self.name}-rollout", STATE_KEY)

    def read_state(self) -> RolloutState:
        """The state as the last reconcile left it."""
        return RolloutState.from_json(self._state.read())

    def write_state(self, state: RolloutState) -> None:
        """Raises OSError if another controller, which is then in charge, has changed the state since it was read."""
        self._state.write(state.to_json())

    def get_track(self, *, canary: bool) -> Track:
        """A Deployment, without its pods."""
        scale = self.api.send("GET", self._scale(canary=canary))
        models = self.api.send("GET", self._config_map(_models(canary=canary)))
        self._models[canary] = models["metadata"]["resourceVersion"]
        return Track(scale["spec"].get("replicas", 0), self._version(models["data"].get(_FILE, "")))

    def list_pods(self) -> list[PodStatus]:
        """All pods of the server that are not being deleted."""
        path = f"api/v1/namespaces/{self.namespace}/pods?labelSelector=app.kubernetes.io%2Fname%3D{self.name}"
        items = self.api.send("GET", path)["items"]
        return [_pod(each) for each in items if "deletionTimestamp" not in each["metadata"]]

    def has_terminating_pods(self, *, canary: bool) -> bool:
        """Whether a Deployment has pods that are still being deleted."""
        label = f"app.kubernetes.io%2Fname%3D{self.name}%2C{TRACK}{'%3D' if canary else '%21%3D'}{CANARY}"
        found = self.api.send("GET", f"api/v1/namespaces/{self.namespace}/pods?labelSelector={label}")["items"]
        return any("deletionTimestamp" in each["metadata"] for each in found)

    def configure(self, version: int | None, *, canary: bool) -> None:
        """Writes a model config file; the pods that mount it read it again. Raises OSError if another controller has
        changed it since `get_track()`."""
        about = {"resourceVersion": self._models[canary]}
        change = {"metadata": about, "data": {_FILE: self._text(version)}}
        self.api.send("PATCH", self._config_map(_models(canary=canary)), change)

    def annotate(self, pod: str, version: int | None) -> None:
        """Annotates a pod with its version: at a change, the kubelet syncs the pod's files at once, not in a minute."""
        annotations = {_VERSION: annotation(version)}
        path = f"api/v1/namespaces/{self.namespace}/pods/{pod}"
        self.api.send("PATCH", path, {"metadata": {"annotations": annotations}})

    def admit(self, pod: str) -> None:
        """Opens a pod's readiness gate."""
        condition = {"type": ADMITTED, "status": "True", "lastTransitionTime": events.timestamp(time.time())}
        path = f"api/v1/namespaces/{self.namespace}/pods/{pod}/status"
        status = {"status": {"conditions": [condition]}}
        self.api.send("PATCH", path, status, content_type=ApiServer.STRATEGIC_MERGE)

    def scale(self, replicas: int, *, canary: bool) -> None:
        """Changes a Deployment's replicas."""
        path = f"{self._scale(canary=canary)}?fieldManager={MANAGER}"
        self.api.send("PATCH", path, {"spec": {"replicas": replicas}})

    def get_weights(self) -> Mapping[str, int | None]:
        """The canary's weight in each route, in percent, by the route's kind; None: not divided yet."""
        return {kind: routes.get_weight(self.api.send("GET", self._route(kind)), self.name) for kind in self.routes}

    def set_weight(self, route: str, weight: int) -> None:
        """Sets the canary's weight in a route, in percent; the stable pods get the rest."""
        patch = routes.weight_patch(self.name, self.routes[route], weight, MANAGER)
        path = f"{self._route(route)}?fieldManager={MANAGER}"
        self.api.send("PATCH", path, patch, content_type="application/json-patch+json")

    def create_event(self, decision: RolloutDecision) -> None:
        """Creates the decision's Event, unless it exists."""
        made = events.event(
            {"name": f"{self.name}.rollout-{decision.number}", "namespace": self.namespace},
            {"apiVersion": "apps/v1", "kind": "Deployment", "name": self.name, "namespace": self.namespace},
            reason=decision.action,
            message=f"version {decision.version}: {decision.reason}",
            at=events.timestamp(decision.at),
            component=MANAGER,
            is_warning=decision.action in ("RolledBack", "NotServed"),
        )
        events.create(self.api, made)

    def _version(self, text: str) -> int | None:
        before, _, after = self.config.partition(self.placeholder)
        if not text.startswith(before) or text == self.newest:
            return None
        digits = text[len(before) : len(text) - len(after)]
        return int(digits) if digits.isdecimal() else None

    def _text(self, version: int | None) -> str:
        return self.newest if version is None else self.config.replace(self.placeholder, str(version))

    def _config_map(self, part: str) -> str:
        return f"api/v1/namespaces/{self.namespace}/configmaps/{self.name}-{part}"

    def _route(self, kind: str) -> str:
        return f"{routes.API}/namespaces/{self.namespace}/{routes.PLURALS[kind]}/{self.name}"

    def _scale(self, *, canary: bool) -> str:
        name = f"{self.name}-canary" if canary else self.name
        return f"apis/apps/v1/namespaces/{self.namespace}/deployments/{name}/scale"


def annotation(version: int | None) -> str:
    """The annotation of pods that read a model config file with this version."""
    return str(version or _NEWEST_VERSION)


def _models(*, canary: bool) -> str:
    return "canary-models" if canary else "stable-models"


def _pod(found: Mapping[str, Any]) -> PodStatus:
    metadata, status = found["metadata"], found.get("status", {})
    true = {each["type"] for each in status.get("conditions", ()) if each["status"] == "True"}
    address, track = status.get("podIP", ""), metadata.get("labels", {}).get(TRACK)
    return PodStatus(
        metadata["name"],
        f"{address}:{_PORT}" if address else "",
        canary=track == CANARY,
        labelled=track is not None,
        ready="Ready" in true,
        started="ContainersReady" in true,
        admitted=ADMITTED in true,
        failed=_failure(status.get("containerStatuses", ())),
        annotated=metadata.get("annotations", {}).get(_VERSION, ""),
    )


def _failure(containers: Sequence[Mapping[str, Any]]) -> str:
    for each in containers:
        ended = each.get("lastState", {}).get("terminated") or each.get("state", {}).get("terminated")
        if ended and each.get("restartCount", 0) >= _MOST_RESTARTS:
            lines = ended.get("message", "").strip().splitlines()
            why = lines[-1][:300] if lines else f"{ended.get('reason', 'Error')}, exit code {ended.get('exitCode')}"
            return f"its server has ended {each['restartCount']} times: {why}"
    return ""
