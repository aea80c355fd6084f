"""The runs of one pipeline in the cluster."""

from __future__ import annotations

import time
import urllib.error
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from .. import events
from ..api import CONFLICT, NOT_FOUND, ApiServer
from ..watch import WatchedList
from . import workflow
from .workflow import Step

_API = "argoproj.io/v1alpha1"
_UNFINISHED = "workflows.argoproj.io%2Fcompleted%21%3Dtrue"


@dataclass
class Cluster:
    """One pipeline's Workflows in its namespace."""

    api: ApiServer
    namespace: str
    pipeline: str

    def list_steps(self) -> list[Step]:
        """The steps that runs wait for."""
        return [step for each in self._runs.items() for step in workflow.list_steps(each)]

    def wait(self, seconds: int) -> None:
        """Waits until a run is another than `list_steps` has read it, but not longer than this."""
        self._runs.wait(seconds)

    def succeed(self, step: Step, message: str, outputs: Mapping[str, str]) -> None:
        """Sets a step's node to succeeded, with its outputs."""
        parameters = [
            {"name": name, "value": value, "valueFrom": {"supplied": {}}} for name, value in sorted(outputs.items())
        ]
        self._set_node(step, {"phase": "Succeeded", "message": message, "outputs": {"parameters": parameters}})

    def fail(self, step: Step, why: str) -> None:
        """Sets a step's node to failed."""
        self._set_node(step, {"phase": "Failed", "message": why})

    def _set_node(self, step: Step, change: Mapping[str, Any]) -> None:
        """Changes a node as `argo node set` does: if somebody has changed the Workflow meanwhile, it tries again."""
        path = f"{self._workflows}/{step.run}"
        at = events.timestamp(time.time())
        while True:
            try:
                run = self.api.send("GET", path)
                if not workflow.is_waiting(workflow.nodes(run)[step.node]):
                    return
                self.api.send("PATCH", path, workflow.node_patch(run, step.node, {**change, "finishedAt": at}))
                return
            except urllib.error.HTTPError as error:
                if error.code == NOT_FOUND:
                    return
                if error.code != CONFLICT:
                    raise

    @property
    def _workflows(self) -> str:
        return f"apis/{_API}/namespaces/{self.namespace}/workflows"

    @cached_property
    def _runs(self) -> WatchedList:
        query = f"labelSelector=app.kubernetes.io%2Fname%3D{self.pipeline}%2C{_UNFINISHED}"
        return WatchedList(self.api, f"{self._workflows}?{query}")
