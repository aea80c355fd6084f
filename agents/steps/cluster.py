"""The runs of one pipeline in the cluster."""

from __future__ import annotations

import datetime
import time
import urllib.error
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from agents.api import CONFLICT, NOT_FOUND, ApiServer
from agents.steps import waiting
from agents.steps.waiting import Step

_API = "argoproj.io/v1alpha1"
_UNFINISHED = "workflows.argoproj.io%2Fcompleted%21%3Dtrue"


@dataclass
class Cluster:
    """One pipeline's Workflows in its namespace."""

    server: ApiServer
    namespace: str
    pipeline: str
    _seen: str = field(default="", init=False)
    """Resource version of the last list; empty once a change of it was waited for."""

    def waiting(self) -> list[Step]:
        """The steps that runs wait for."""
        # Without resourceVersion: what this process answered a moment ago must be seen.
        found = self.server.send("GET", self._runs)
        self._seen = found["metadata"]["resourceVersion"]
        return [step for each in found["items"] for step in waiting.of(each)]

    def wait(self, seconds: int) -> None:
        """Wait until a run is another than `waiting` has seen it, but not longer than this."""
        seen, self._seen = self._seen, ""
        if seen:
            self.server.wait_for_change(self._runs, seen, seconds)
        else:
            time.sleep(seconds)

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
                if not waiting.is_waiting(waiting.nodes(run)[step.node]):
                    return
                self.server.send("PATCH", path, waiting.with_node(run, step.node, {**change, "finishedAt": at}))
                return
            except urllib.error.HTTPError as error:
                if error.code == NOT_FOUND:
                    return
                if error.code != CONFLICT:
                    raise

    @property
    def _workflows(self) -> str:
        return f"apis/{_API}/namespaces/{self.namespace}/workflows"

    @property
    def _runs(self) -> str:
        return f"{self._workflows}?labelSelector=app.kubernetes.io%2Fname%3D{self.pipeline}%2C{_UNFINISHED}"
