"""The objects of one pipeline's triggers in the cluster: WorkflowTemplate, Workflows, state and Events."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .. import events
from ..api import CONFLICT, ApiServer, tolerate
from ..state import ConfigMapState
from .runs import API
from .state import TriggerDecision, TriggerState

MANAGER = "tensorplane-runs"
"""Field manager of Workflows, as of those that `tensorplane runs start` creates."""
STATE_KEY = "triggers.json"
"""The key of the state in its ConfigMap."""
_COMPLETED = "workflows.argoproj.io/completed"
"""Label that Argo gives Workflows that have ended."""


@dataclass
class Cluster:
    """One pipeline's objects in its namespace."""

    api: ApiServer
    namespace: str
    pipeline: str
    config_map: str
    """Name of the state's ConfigMap."""

    def __post_init__(self) -> None:
        self._state = ConfigMapState(self.api, self.namespace, self.config_map, STATE_KEY)

    def read_state(self) -> TriggerState:
        """The state as the last reconcile left it."""
        return TriggerState.from_json(self._state.read())

    def write_state(self, state: TriggerState) -> None:
        """Raises OSError if another controller, which is then in charge, has changed the state since it was read."""
        self._state.write(state.to_json())

    def find_template(self) -> Mapping[str, Any] | None:
        """The pipeline as deployed; None if it is not."""
        found: Mapping[str, Any] | None = self.api.find(f"{self._argo}/workflowtemplates/{self.pipeline}")
        return found

    def has_run(self, run: str) -> bool:
        """Whether a run exists, in whatever state."""
        return self.api.find(f"{self._argo}/workflows/{run}") is not None

    def list_unfinished(self) -> list[str]:
        """Runs of the pipeline that have not ended."""
        selector = f"app.kubernetes.io%2Fname%3D{self.pipeline}%2C{_COMPLETED.replace('/', '%2F')}%21%3Dtrue"
        found = self.api.send("GET", f"{self._argo}/workflows?labelSelector={selector}")["items"]
        return sorted(each["metadata"]["name"] for each in found)

    def create(self, workflow: Mapping[str, Any]) -> None:
        """Creates a run unless it exists."""
        with tolerate(CONFLICT):
            self.api.send("POST", f"{self._argo}/workflows?fieldManager={MANAGER}", workflow)

    def create_event(self, decision: TriggerDecision) -> None:
        """Creates the decision's Event, unless it exists."""
        made = events.event(
            {"name": f"{self.pipeline}.triggers-{decision.number}", "namespace": self.namespace},
            {"apiVersion": API, "kind": "WorkflowTemplate", "name": self.pipeline, "namespace": self.namespace},
            reason=decision.action,
            message=f"{decision.run}: {decision.reason}",
            at=events.timestamp(decision.at),
            component="tensorplane-triggers",
        )
        events.create(self.api, made)

    @property
    def _argo(self) -> str:
        return f"apis/{API}/namespaces/{self.namespace}"
