"""The objects of one pipeline's triggers in the cluster: its WorkflowTemplate and Workflows, the memory, Events."""

from __future__ import annotations

import datetime
import urllib.error
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from agents.api import CONFLICT, NOT_FOUND, ApiServer
from agents.triggers.runs import API
from agents.triggers.state import Decision, Kept

MANAGER = "tensorplane-runs"
"""Field manager of Workflows, as of those that `tensorplane runs start` creates."""
KEPT = "triggers.json"
"""The key of what is remembered in its ConfigMap."""
_COMPLETED = "workflows.argoproj.io/completed"
"""Label that Argo gives Workflows that have ended."""


@dataclass
class Cluster:
    """One pipeline's objects in its namespace."""

    server: ApiServer
    namespace: str
    pipeline: str
    memory: str
    """Name of the ConfigMap."""
    _known: dict[str, Any] = field(default_factory=dict)

    def kept(self) -> Kept:
        """What is remembered."""
        self._known = self.server.send("GET", self._config_map)
        return Kept.read((self._known.get("data") or {}).get(KEPT, ""))

    def keep(self, kept: Kept) -> None:
        """Remember it. Raises OSError if another controller has changed it since `kept()`, which is then in charge."""
        version = self._known["metadata"]["resourceVersion"]
        body = {"metadata": {"resourceVersion": version}, "data": {KEPT: kept.text()}}
        self._known = self.server.send("PATCH", self._config_map, body)

    def template(self) -> Mapping[str, Any] | None:
        """The pipeline as deployed; None if it is not."""
        return self._get(f"{self._argo}/workflowtemplates/{self.pipeline}")

    def has(self, run: str) -> bool:
        """Whether a run exists, in whatever state."""
        return self._get(f"{self._argo}/workflows/{run}") is not None

    def unfinished(self) -> list[str]:
        """Runs of the pipeline that have not ended."""
        selector = f"app.kubernetes.io%2Fname%3D{self.pipeline}%2C{_COMPLETED.replace('/', '%2F')}%21%3Dtrue"
        found = self.server.send("GET", f"{self._argo}/workflows?labelSelector={selector}")["items"]
        return sorted(each["metadata"]["name"] for each in found)

    def create(self, workflow: Mapping[str, Any]) -> None:
        """Create a run unless it exists."""
        try:
            self.server.send("POST", f"{self._argo}/workflows?fieldManager={MANAGER}", workflow)
        except urllib.error.HTTPError as error:
            if error.code != CONFLICT:
                raise

    def announce(self, decision: Decision) -> None:
        """Create the decision's Event. A second one of the same decision changes nothing."""
        at = datetime.datetime.fromtimestamp(decision.at, datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        event = {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": f"{self.pipeline}.triggers-{decision.number}", "namespace": self.namespace},
            "involvedObject": {
                "apiVersion": API,
                "kind": "WorkflowTemplate",
                "name": self.pipeline,
                "namespace": self.namespace,
            },
            "reason": decision.action,
            "message": f"{decision.run}: {decision.reason}",
            "type": "Normal",
            "firstTimestamp": at,
            "lastTimestamp": at,
            "count": 1,
            "source": {"component": "tensorplane-triggers"},
        }
        try:
            self.server.send("POST", f"api/v1/namespaces/{self.namespace}/events", event)
        except urllib.error.HTTPError as error:
            if error.code != CONFLICT:
                raise

    def _get(self, path: str) -> Mapping[str, Any] | None:
        try:
            found: Mapping[str, Any] = self.server.send("GET", path)
        except urllib.error.HTTPError as error:
            if error.code != NOT_FOUND:
                raise
            return None
        return found

    @property
    def _argo(self) -> str:
        return f"apis/{API}/namespaces/{self.namespace}"

    @property
    def _config_map(self) -> str:
        return f"api/v1/namespaces/{self.namespace}/configmaps/{self.memory}"
