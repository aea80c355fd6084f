"""Training jobs of any strategy, size and fleet: what their JobSets must satisfy for TensorFlow, Kubernetes and queues.

The specs are random. A model of the scheduler, which only knows the nodes' labels, taints and resources, says whether
every pod finds a node.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import hypothesis
import pytest
from hypothesis import strategies as st

from tensorplane import stack
from tensorplane.components.base.settings import Settings
from tensorplane.components.node_groups.shape import Shape
from tensorplane.components.queues.flavors import ANY
from tensorplane.core.errors import UserError
from tensorplane.stack import ResolvedStack
from tensorplane.workloads.training_job.manifest import JobManifest, plan
from tensorplane.workloads.training_job.platform_context import job_context
from tensorplane.workloads.training_job.role import total
from tensorplane.workloads.training_job.workload import TrainingJobArgs
from tests.support import counts

COUNT = counts.of(quick=40, nightly=10000)
LABEL = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
KEEPING_OUT = ("NoSchedule", "NoExecute")

GROUPS: Mapping[str, dict[str, Any]] = {
    "cpu": {"machine": "e2-standard-16", "min": 1, "max": 60},
    "team-cpu": {"machine": "e2-standard-16", "max": 40, "taints": [{"key": "team", "value": "a"}]},
    "t4": {"accelerator": "t4", "perNode": 2, "max": 40},
    "shared": {"accelerator": "l4", "max": 20, "sharing": {"kind": "timeSlicing", "replicas": 4}},
    "spot": {"accelerator": "a100-40gb", "perNode": 8, "max": 20, "spot": True},
    "team": {"accelerator": "h100-80gb", "perNode": 8, "max": 8, "taints": [{"key": "team", "value": "a"}]},
    "slice": {"accelerator": "tpu-v5e", "perNode": 4, "topology": "4x4", "max": 4, "zones": ["us-central1-a"]},
    "chips": {"accelerator": "tpu-v5e", "perNode": 8, "max": 4, "spot": True},
}
QUEUES = {"ml": {"cpus": 400, "memoryGib": 1600, "gpus": {"t4": 40, "a100-40gb-spot": 60}}}

CPUS = st.fixed_dictionaries(
    {"cpus": st.sampled_from([0.5, 1, 4]), "memoryGib": st.sampled_from([1, 8])},
    optional={"nodeGroup": st.sampled_from(["cpu", "team-cpu"])},
)


def _gpus(numbers: list[int], **where: str) -> st.SearchStrategy[dict[str, Any]]:
    """Requests of GPUs. On nodes with fewer, they are refused."""
    return st.builds(lambda count: {"cpus": 1, "memoryGib": 4, "gpus": count, **where}, st.sampled_from(numbers))


SEVERAL = st.one_of(
    _gpus([2]),
    _gpus([2], accelerator="t4"),
    _gpus([2, 8], accelerator="a100-40gb"),
    _gpus([4, 8], nodeGroup="team"),
)
GPUS = st.one_of(CPUS, _gpus([1, 9]), _gpus([1], accelerator="t4"), _gpus([1, 2], accelerator="l4"), SEVERAL)
ADDED: dict[str, st.SearchStrategy[Any]] = {
    "evaluator": st.fixed_dictionaries({}, optional={"resources": GPUS, "command": st.just(["python3", "-m", "e"])}),
    "dataService": st.fixed_dictionaries({}, optional={"workers": st.integers(1, 12), "resources": CPUS}),
}
WORKERS = st.integers(1, 12)
STRATEGIES = st.one_of(
    st.fixed_dictionaries({"kind": st.sampled_from(["single", "mirrored"])}, optional=ADDED),
    st.fixed_dictionaries({"kind": st.just("multiWorkerMirrored"), "workers": WORKERS}, optional=ADDED),
    st.fixed_dictionaries(
        {"kind": st.just("parameterServer"), "workers": WORKERS, "servers": st.integers(1, 4)},
        optional={
            "mode": st.sampled_from(["coordinator", "betweenGraph"]),
            "serverResources": CPUS,
            "chief": CPUS,
            **ADDED,
        },
    ),
    st.fixed_dictionaries({"kind": st.just("tpu"), "topology": st.sampled_from(["2x4", "4x4"])}, optional=ADDED),
)


@st.composite
def jobs(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    """A job's name and settings; most are accepted."""
    strategy = draw(STRATEGIES)
    resources = draw(SEVERAL if strategy["kind"] == "mirrored" else GPUS)
    if strategy["kind"] == "tpu":
        resources = {"accelerator": "tpu-v5e", "cpus": 4, "memoryGib": 8}
    settings: dict[str, Any] = {
        "kind": "trainingJob",
        "image": "team/train:1",
        "command": ["python3", "-m", "train"],
        "strategy": strategy,
        "resources": resources,
    }
    if "evaluator" in strategy or draw(st.booleans()):
        settings |= {"volumes": {"data": "/data"}, "checkpoints": {"volume": "data"}}
    if strategy["kind"] != "tpu" and "team" not in str(strategy) + str(resources) and draw(st.booleans()):
        settings["queue"] = "ml"
    return draw(st.from_regex(r"[a-z]([-a-z0-9]{0,40}[a-z0-9])?", fullmatch=True)), settings


def settings_of(name: str, job: dict[str, Any]) -> dict[str, Any]:
    return {
        "cluster": {"kind": "gke", "project": "p-1234567", "region": "us-central1"},
        "nodeGroups": GROUPS,
        "queues": QUEUES,
        "volumes": {"data": {"sizeGib": 1024, "backend": {"kind": "filestore"}, "accessModes": ["ReadWriteMany"]}},
        "workloads": {name: job},
    }


@pytest.mark.counted
def test_pods_of_any_job_find_each_other_and_their_nodes() -> None:
    found: Counter[str] = Counter()

    @hypothesis.settings(max_examples=COUNT)
    @hypothesis.given(jobs())
    def holds(spec: tuple[str, dict[str, Any]]) -> None:
        name, job = spec
        try:
            resolved = stack.load(Settings(settings_of(name, job), frozenset()))
        except UserError as error:
            assert all(line.startswith("tensorplane:workloads.") and "; " in line for line in str(error).split("\n"))
            found["refused"] += 1
            return
        found[job["strategy"]["kind"]] += 1
        args = resolved.config.workloads[name]
        assert isinstance(args, TrainingJobArgs)
        manifest = plan(args, job_context(name, args, resolved.platform), image="team/train:1")
        _roles_are_consistent(args, manifest)
        _gpus_agree(args, manifest)
        for role, pod in _pods(manifest):
            _finds_a_node(role, pod, args, resolved)

    holds()
    assert set(found) == {"mirrored", "multiWorkerMirrored", "parameterServer", "refused", "single", "tpu"}
    assert found["refused"] < COUNT / 2, found


def _pods(manifest: JobManifest) -> Iterator[tuple[str, dict[str, Any]]]:
    for job in manifest.job_set["spec"]["replicatedJobs"]:
        yield job["name"], job["template"]["spec"]["template"]["spec"]


def _variables(pod: Mapping[str, Any], index: int) -> dict[str, str]:
    """The variables as Kubernetes expands them: from those that are declared before."""
    found: dict[str, str] = {}
    for each in pod["containers"][0]["env"]:
        value = str(index) if each["name"] == "TF_TASK_INDEX" else each.get("value", "")
        found[each["name"]] = re.sub(r"\$\((\w+)\)", lambda match: found.get(match[1], match[0]), value)
    return found


def _roles_are_consistent(args: TrainingJobArgs, manifest: JobManifest) -> None:
    """Names fit, TF_CONFIG is the same in all pods but for the task, and every address is that of a pod."""
    run, spec = manifest.run.name, manifest.job_set["spec"]
    pods_of = {job["name"]: job["template"]["spec"]["completions"] for job in spec["replicatedJobs"]}
    names = {f"{run}-{role}-0-{index}" for role, count in pods_of.items() for index in range(count)}
    assert all(len(f"{name}-abcde") <= 63 and LABEL.fullmatch(name) for name in names)
    assert pods_of == {role.name: role.replicas for role in args.roles()}
    assert spec["successPolicy"]["targetReplicatedJobs"], "some role decides"
    clusters, addresses = [], set()
    for role, pod in _pods(manifest):
        for index in range(pods_of[role]):
            variables = _variables(pod, index)
            addresses |= {
                address
                for name in ("TF_CHIEF_HOSTS", "TF_WORKER_HOSTS", "TF_PS_HOSTS", "TENSORPLANE_ADDRESS")
                for address in variables.get(name, "").split(",")
            } | {variables.get("TENSORPLANE_DATA_SERVICE", "").removeprefix("grpc://")}
            addresses |= {f"{each}:0" for each in variables.get("TPU_WORKER_HOSTNAMES", "").split(",") if each}
            if "TF_CONFIG" in variables:
                config = json.loads(variables["TF_CONFIG"])
                clusters.append(config["cluster"])
                assert config["task"] == {"type": role, "index": index}
                assert variables["TF_JOB_NAME"] == role
            if "TENSORPLANE_ADDRESS" in variables:
                assert variables["TENSORPLANE_ADDRESS"].startswith(f"{run}-{role}-0-{index}.{run}:")
    assert all(cluster == clusters[0] for cluster in clusters)
    assert all(pods_of[role] == len(hosts) for role, hosts in (clusters[0] if clusters else {}).items())
    assert {address.partition(".")[0] for address in addresses - {""}} <= names
    assert {address.partition(".")[2].partition(":")[0] for address in addresses - {""}} <= {run}


def _gpus_agree(args: TrainingJobArgs, manifest: JobManifest) -> None:
    """What policies count, what the queue's checks count, and what the pods request are one number."""
    requested = 0
    for job in manifest.job_set["spec"]["replicatedJobs"]:
        (container,) = job["template"]["spec"]["template"]["spec"]["containers"]
        requested += job["template"]["spec"]["parallelism"] * int(
            container["resources"]["limits"].get("nvidia.com/gpu", "0")
        )
    assert total(args.roles()).gpus == requested
    assert sum(pods.gpus for pods in args.pod_sets()) == requested
    assert args.accelerators_without_queue["nvidia.com/gpu"] == (0 if args.queue else requested)


def _finds_a_node(role: str, pod: Mapping[str, Any], args: TrainingJobArgs, resolved: ResolvedStack) -> None:
    """Whether some node group has the labels that the pod selects, taints that it tolerates, and what it requests."""
    (pods,) = (pods for pods in args.pod_sets() if pods.role == role)
    selected = [(dict(pod.get("nodeSelector", {})), list(pod.get("tolerations", [])))]
    if args.queue:
        # Kueue adds the labels and tolerations of the flavor that it assigns.
        selected = [
            (
                {**labels, **quota.flavor.labels},
                [*tolerations, *({"key": each.key, "effect": each.effect} for each in quota.flavor.tolerations)],
            )
            for labels, tolerations in selected
            for quota, _ in resolved.capacities[args.queue].usable(pods)
            if quota.flavor.name != ANY
        ]
    assert selected, f"no flavor for {role}"
    groups = resolved.fleet.groups.values()
    for labels, tolerations in selected:
        assert any(_takes(shape, pod, labels, tolerations) for shape in groups), (role, labels, tolerations)


def _takes(shape: Shape, pod: Mapping[str, Any], labels: Mapping[str, str], tolerations: list[Any]) -> bool:
    own = {**shape.labels, **shape.selector}
    if shape.accelerator and shape.accelerator.kind == "tpu":
        # GKE's own labels.
        own["cloud.google.com/gke-tpu-accelerator"] = shape.accelerator.product
        own["cloud.google.com/gke-tpu-topology"] = shape.args.topology or str(shape.machine and shape.machine.topology)
    tolerated = {(each["key"], each["effect"]) for each in tolerations}
    limits = pod["containers"][0]["resources"]["limits"]
    devices = {key: int(count) for key, count in limits.items() if "/" in key}
    return (
        labels.items() <= own.items()
        and all(_fits(own, each) for each in _expressions(pod))
        and all((each.key, each.effect) in tolerated for each in shape.taints if each.effect in KEEPING_OUT)
        and all(shape.resources.get(key, 0) >= count for key, count in devices.items())
    )


def _expressions(pod: Mapping[str, Any]) -> list[dict[str, Any]]:
    affinity = pod.get("affinity", {}).get("nodeAffinity", {})
    terms = affinity.get("requiredDuringSchedulingIgnoredDuringExecution", {}).get("nodeSelectorTerms", [])
    return [expression for term in terms for expression in term["matchExpressions"]]


def _fits(labels: Mapping[str, str], expression: Mapping[str, Any]) -> bool:
    if expression["operator"] == "DoesNotExist":
        return expression["key"] not in labels
    return labels.get(expression["key"]) in expression["values"]
