"""A stack with something of each kind that a node may take along: a gang, a job with parameter servers, a server.

Its first runs are undisturbed. Others are copies of them under names of their own, placed where a test wants them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tensorplane.agents.lost_nodes.pods import is_ready
from tensorplane.cli.training_jobs import jobset_api
from tensorplane.components.agent.health import lease_name
from tensorplane.core.kube import Kube
from tensorplane.core.step import Step
from tensorplane.driver.target import Target
from tensorplane.driver.update.stack import open_stack
from tensorplane.driver.watch import Outputs
from tensorplane.embedded import cluster
from tensorplane.embedded.instance import Instance
from tests.e2e.conftest import Deployed
from tests.e2e.stacks import volume_folder
from tests.nodes.run import Run
from tests.support.nodes import RealNode
from tests.support.waiting import eventually

LOST_AFTER_SECONDS = 20
GANG, SPREAD, SERVER = "digits", "spread", "digits-server"
QUEUE = "training"
_FILES = {
    "held_at.py": "tests/e2e/programs/held_at.py",
    "train.py": "examples/digits/train.py",
    "data.py": "examples/digits/data.py",
    "digits.csv.gz": "package:sklearn/datasets/data/digits.csv.gz",
}
_CPUS = 0.1
_SMALL = {"cpus": _CPUS, "memoryGib": 1.25}
# The queue has room for each gang twice, so that one that is counted twice is seen, and not kept waiting.
_QUEUE = {"priority": "normal", "cpus": 1.2, "memoryGib": 15}
_STRATEGIES: Mapping[str, Mapping[str, Any]] = {
    GANG: {"kind": "multiWorkerMirrored", "workers": 2},
    SPREAD: {"kind": "parameterServer", "workers": 1, "servers": 1, "chief": _SMALL, "serverResources": _SMALL},
}
STEPS = {GANG: 1500, SPREAD: 300}
ROLES = ("chief", "ps", "worker")
"""Of the job with parameter servers: a pod each. A gang has workers alone."""
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


@dataclass
class Busy:
    """The deployed stack."""

    instance: Instance
    kube: Kube
    namespace: str
    models: Path
    """The folder of the volume."""
    first: Mapping[str, Run]
    """The undisturbed run of each job."""
    url: str
    """Where the server answers."""

    @classmethod
    def on(cls, instance: Instance, folder: Path) -> Busy:
        """On a cluster with two nodes and nothing else: controllers and undisturbed runs are on the first."""
        cluster.load_images(instance, Step("load images"))
        kube = Kube.of(instance.kubeconfig)
        stack = open_stack(Target("", instance)).with_settings(folder, _settings())
        with RealNode(instance, 2).closed(kube):
            stack.up(Step("pulumi up"), state=stack.prepare(Step("prepare")))
            told = stack.outputs()
            deployed = Deployed(instance, stack, Outputs.of(told), kube)
            models = volume_folder(deployed, told["namespace"], "models")
            job_sets = {job: told["workloads"][job]["jobSet"] for job in _STRATEGIES}
            first = {job: Run(instance, kube, told["namespace"], models, job, name) for job, name in job_sets.items()}
            made = cls(instance, kube, told["namespace"], models, first, told["workloads"][SERVER]["models"][GANG])
            for run in first.values():
                assert eventually(run.ended) == "finished", run.log()
        return made

    def begin(self, job: str, number: int, hold_at: str, on: Mapping[str, str], *, apart: bool = False) -> Run:
        """Another run of a job, which `held_at.py` holds.

        `on`: the node that the pods of a role prefer, by role; `apart`: they prefer different ones.
        """
        former = self.first[job]
        name = f"{job}-lost-{number}"
        found = json.loads(json.dumps(former.job_set()).replace(former.name, name))
        labels = found["metadata"]["labels"]
        made = {
            "apiVersion": found["apiVersion"],
            "kind": "JobSet",
            "metadata": {"name": name, "namespace": self.namespace, "labels": labels},
            "spec": {**found["spec"], "suspend": True},
        }
        for each in made["spec"]["replicatedJobs"]:
            template = each["template"]["spec"]["template"]
            for part, values in template["metadata"].items():
                # Kueue's, of the former run.
                template["metadata"][part] = {key: value for key, value in values.items() if "kueue" not in key}
            template["spec"]["affinity"] = _affinity(on[each["name"]], name if apart else "")
            for container in template["spec"]["containers"]:
                container["env"].append({"name": "HOLD_AT", "value": hold_at})
        self.kube.apply(jobset_api.path(made), made, "test")
        return Run(self.instance, self.kube, self.namespace, self.models, job, name)

    def pods(self, selector: str) -> list[dict[str, Any]]:
        """Pods that are not being deleted."""
        found = self.kube.items(f"/api/v1/namespaces/{self.namespace}/pods", labelSelector=selector)
        return [each for each in found if "deletionTimestamp" not in each["metadata"]]

    def move(self, selector: str, to: RealNode, away_from: RealNode) -> None:
        """Have one of a Deployment's pods on a node, and Ready there, unless one is there already."""

        def there() -> bool:
            return any(each["spec"].get("nodeName") == to.name and is_ready(each) for each in self.pods(selector))

        here = self.pods(selector)
        if not any(each["spec"].get("nodeName") == to.name for each in here):
            with away_from.closed(self.kube):
                self.kube.delete(f"/api/v1/namespaces/{self.namespace}/pods/{here[0]['metadata']['name']}")
                eventually(there)
        eventually(there)

    def have_act(self, at: RealNode) -> None:
        """Have the pod of the agent of lost nodes act that is on a node: each node has one."""
        of_agent, lease = "app.kubernetes.io/component=lost-nodes", lease_name("nodes.lost")

        def acting() -> tuple[str, str]:
            found = self.kube.get(f"/apis/coordination.k8s.io/v1/namespaces/{self.namespace}/leases/{lease}") or {}
            holder = found["spec"].get("holderIdentity", "")
            names = {each["metadata"]["name"]: each["spec"].get("nodeName", "") for each in self.pods(of_agent)}
            return holder, names.get(holder, "")

        for number in (1, 2):
            node, other = RealNode(self.instance, number), RealNode(self.instance, 3 - number)
            self.move(of_agent, node, away_from=other)

        def acts_there() -> bool:
            holder, node_name = acting()
            # The pod that replaces it may be faster than the other one.
            if node_name and node_name != at.name:
                self.kube.delete(f"/api/v1/namespaces/{self.namespace}/pods/{holder}")
            return node_name == at.name

        eventually(acts_there, about=acting)


def cpus(job: str) -> float:
    """What one gang of a job requests."""
    return _CPUS * (2 if job == GANG else len(ROLES))


def _settings() -> str:
    sections = {
        "cluster": {"kind": "embedded", "nodes": 2},
        "nodes": {"lostAfterSeconds": LOST_AFTER_SECONDS},
        "volumes": {"models": {"sizeGib": 2}},
        "queues": {QUEUE: _QUEUE},
        "workloads": {
            **{job: _job(job, strategy) for job, strategy in _STRATEGIES.items()},
            SERVER: {
                "kind": "modelServer",
                "model": {"volume": "models", "path": GANG},
                "replicas": 2,
                "resources": {"cpus": 0.05, "memoryGib": 1},
            },
        },
    }
    return yaml.safe_dump({"config": {f"tensorplane:{key}": value for key, value in sections.items()}})


def _job(name: str, strategy: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "kind": "trainingJob",
        "strategy": dict(strategy),
        "command": ["python3", "held_at.py"],
        "files": _FILES,
        "env": {"STEPS": STEPS[name]},
        "resources": _SMALL,
        "volumes": {"models": "/models"},
        "model": {"volume": "models", "path": name},
        "checkpoints": {"volume": "models", "everySteps": STEPS[name] // 10},
        "queue": QUEUE,
    }


def _affinity(node: str, apart: str) -> dict[str, Any]:
    wanted = {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}]}
    others = {
        "labelSelector": {"matchLabels": {"jobset.sigs.k8s.io/jobset-name": apart}},
        "topologyKey": "kubernetes.io/hostname",
    }
    if apart:
        return {"podAntiAffinity": {_PREFERRED: [{"weight": 100, "podAffinityTerm": others}]}}
    return {"nodeAffinity": {_PREFERRED: [{"weight": 100, "preference": wanted}]}}
