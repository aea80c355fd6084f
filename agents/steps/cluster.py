"""The runs of one pipeline in the cluster."""

from __future__ import annotations

import datetime
import urllib.error
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from agents.api import CONFLICT, NOT_FOUND, ApiServer
from agents.steps import workflow
from agents.steps.workflow import Step
from agents.watch import Watched

_API = "argoproj.io/v1alpha1"
_UNFINISHED = "workflows.argoproj.io%2Fcompleted%21%3Dtrue"


@dataclass
class Cluster:
    """One pipeline's Workflows in its namespace."""

    server: ApiServer
    namespace: str
    pipeline: str

    def waiting(self) -> list[Step]:
        """The steps that runs wait for."""
        return [step for each in self._runs.items() for step in workflow.of(each)]

    def wait(self, seconds: int) -> None:
        """Wait until a run is another than `waiting` has seen it, but not longer than this."""
        self._runs.wait(seconds)

    def succeed(self, step: Step, said: str, outputs: Mapping[str, str]) -> None:
        """Tell the run that a step was taken."""
        parameters = [
            {"name": name, "value": value, "valueFrom": {"supplied": {}}} for name, value in sorted(outputs.items())
        ]
        self._answer(step, {"phase": "Succeeded", "message": said, "outputs": {"parameters": parameters}})

    def fail(self, step: Step, why: str) -> None:
        """Tell the run that a step cannot be taken."""
        self._answer(step, {"phase": "Failed", "message": why})

    def _answer(self, step: Step, change: Mapping[str, Any]) -> None:
        """As `argo node set` does it: change the node unless the Workflow was changed meanwhile, and try again."""
        path = f"{self._workflows}/{step.run}"
        at = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        while True:
            try:
                run = self.server.send("GET", path)
                if not workflow.is_waiting(workflow.nodes(run)[step.node]):
                    return
                self.server.send("PATCH", path, workflow.with_node(run, step.node, {**change, "finishedAt": at}))
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
    def _runs(self) -> Watched:
        query = f"labelSelector=app.kubernetes.io%2Fname%3D{self.pipeline}%2C{_UNFINISHED}"
        return Watched(self.server, f"{self._workflows}?{query}")
