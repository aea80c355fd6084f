"""The example that classifies images: what its users commit, and what they look at."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tensorplane.cli.commands.lineage import graph, version_paths
from tensorplane.cli.commands.lineage.graph import Graph
from tensorplane.cli.commands.lineage.volumes import Pods
from tensorplane.cli.pipelines.listing import Run
from tensorplane.cli.serving import server as model_servers
from tests.e2e.pipelines.deployed import Pipelines


@dataclass(frozen=True)
class Example:
    """The example, deployed, and all sheets and labels that there are."""

    pipelines: Pipelines
    drawn: Path

    def commit(self, sheets: int, labels: int, *, wrong: int = 0) -> tuple[str, str]:
        """Commit so many sheets, and labels of so many of them, the last ones wrong; the commits."""
        right = [(self.drawn / "labels" / f"sheet-{number}.txt").read_text() for number in range(1, labels + 1)]
        texts = [*right[: labels - wrong], *map(_mistaken, right[labels - wrong :])]
        source = self.pipelines.new_folder()
        source.mkdir()
        for number in range(1, sheets + 1):
            shutil.copy(self.drawn / "sheets" / f"sheet-{number}.pgm", source)
        # The trigger follows the labels.
        return self.pipelines.commit("sheets", source), self.pipelines.put("labels", **_by_file(texts))

    def run(self, *commits: str) -> Run:
        """The run that has followed these commits by itself, at its end."""
        return self.pipelines.run_on("classify", *commits)

    def accuracy(self) -> dict[str, float]:
        """The share of right answers for each sheet."""
        answers = self.pipelines.get("answers")
        right = {name: (self.drawn / "labels" / name).read_text().split() for name in answers}
        return {
            name: sum(map(str.__eq__, answer.split(), right[name])) / len(right[name])
            for name, answer in answers.items()
        }

    def live(self) -> int:
        """The version that the last stage which published has seen served."""
        version: int = json.loads(self.pipelines.get("live")["served.json"])["version"]
        return version

    def states(self) -> dict[int, str]:
        """The states of the versions that the server knows."""
        ((server, model),) = model_servers.chosen(self.pipelines.access, "classifier")
        return {int(one["version"]): one["state"] for one in server.ask(model)["model_version_status"]}

    def decisions(self) -> list[dict[str, Any]]:
        """Those of the server's rollouts."""
        path = f"/api/v1/namespaces/{self.pipelines.access.namespace}/configmaps/classifier-rollout"
        found = self.pipelines.access.api.get(path) or {}
        return list(json.loads((found.get("data") or {}).get("rollout.json") or "{}").get("decisions", []))

    def lineages(self, *targets: str) -> list[Graph]:
        """What versions come from."""
        resolved = self.pipelines.resolved
        with Pods(self.pipelines.access.api, resolved, "default") as pods:
            return [graph.of(version_paths.from_argument(target, resolved), resolved, pods) for target in targets]


def _mistaken(labels: str) -> str:
    """Labels of which each names the next digit."""
    return labels.translate(str.maketrans("0123456789", "1234567890"))


def _by_file(labels: list[str]) -> dict[str, str]:
    return {f"sheet-{number}": text for number, text in enumerate(labels, 1)}
