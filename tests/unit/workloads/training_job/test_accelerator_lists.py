"""`accelerator` as a list: the pods of a role get one of the models, and with a queue all the same one."""

from __future__ import annotations

from typing import Any

import pytest

from tensorplane import stack
from tensorplane.components.base.settings import Settings
from tests.support import rendering
from tests.support.problems import CPU, EKS, problems_of
from tests.support.rendered_files import rendered_tree

GROUPS = {
    "cpu": CPU,
    "old": {"accelerator": "a100-80gb", "perNode": 8, "max": 2, "zones": ["us-west-2a"]},
    "new": {"accelerator": "h100-80gb", "perNode": 8, "max": 2, "zones": ["us-west-2a"]},
    "small": {"accelerator": "t4", "perNode": 4, "max": 2, "zones": ["us-west-2a"]},
}
BOTH = ["a100-80gb", "h100-80gb"]


def tree(accelerator: Any, *, queue: str | None = "training", workers: int = 2) -> dict[str, Any]:
    job = {
        "kind": "trainingJob",
        "strategy": {"kind": "multiWorkerMirrored", "workers": workers},
        "command": ["python3", "-c", "pass"],
        "image": rendering.GPU_IMAGE,
        "resources": {"cpus": 8, "memoryGib": 64, "gpus": 8, "accelerator": accelerator},
        **({"queue": queue} if queue else {}),
    }
    queues = {"training": {"gpus": {"a100-80gb": 16, "h100-80gb": 16}}, "old": {"gpus": {"t4": 8}}}
    return {"cluster": EKS, "nodeGroups": GROUPS, "queues": queues, "workloads": {"job": job}}


def pod(settings: dict[str, Any]) -> dict[str, Any]:
    made = rendered_tree(settings)
    (role,) = made.one("JobSet", "job").inputs["spec"]["replicatedJobs"]
    return dict(role["template"]["spec"]["template"]["spec"])


def test_the_pods_select_the_models_and_no_single_one() -> None:
    spec = pod(tree(BOTH))
    (term,) = spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    models = {"key": "tensorplane.dev/accelerator", "operator": "In", "values": BOTH}
    assert models in term["matchExpressions"]
    assert "tensorplane.dev/accelerator" not in spec.get("nodeSelector", {})
    assert {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"} in spec["tolerations"]


def test_a_list_of_one_is_the_model_itself() -> None:
    assert pod(tree(["h100-80gb"])) == pod(tree("h100-80gb"))


@pytest.mark.parametrize(
    ("settings", "faults"),
    [
        (tree(BOTH), []),
        (
            tree(BOTH, queue=None),
            ["accelerator: is a100-80gb, h100-80gb, but without a queue workers could get different ones and wait for"],
        ),
        (tree([*BOTH, "v100"]), ["accelerator: no node group has 'v100'; choose one of a100-80gb, h100-80gb, t4"]),
        (tree([]), ["accelerator: invalid value (a list); use a list of at least 1"]),
        (
            tree(["h100-80gb", 5]),
            ["accelerator.1: invalid value 5; use text (quote it if it looks like a number or boolean)"],
        ),
        (tree({"name": "t4"}), ["accelerator.name: unknown setting; allowed here: orNewer, tier"]),
        (tree(BOTH, queue="old"), ["queue: 2 worker pods of 8 GPUs, 8 CPUs, 64 GiB would never start: queue old has"]),
    ],
)
def test_lists_that_cannot_work_are_refused(settings: dict[str, Any], faults: list[str]) -> None:
    found = [line.removeprefix("tensorplane:workloads.job.") for line in problems_of(settings)]
    found = [line.removeprefix("resources.") for line in found]
    assert len(found) == len(faults), found
    assert all(line.startswith(start) for line, start in zip(found, faults, strict=True)), found


class TestTiers:
    """A tier is the list of the fleet's models of a year."""

    @pytest.mark.parametrize(
        ("tier", "models"),
        [
            ({"tier": 2020}, "a100-80gb"),
            ({"tier": 2020, "orNewer": True}, BOTH),
            ({"tier": "2022"}, "h100-80gb"),
        ],
    )
    def test_it_is_the_list_of_its_models(self, tier: Any, models: Any) -> None:
        assert pod(tree(tier)) == pod(tree(models))

    def test_it_is_resolved_wherever_resources_are(self) -> None:
        settings = tree("h100-80gb")
        job = settings["workloads"]["job"]
        evaluator = {"resources": {"cpus": 1, "gpus": 1, "accelerator": {"tier": 2018}}}
        job["strategy"] = {"kind": "parameterServer", "evaluator": evaluator}
        job |= {"volumes": {"models": "/models"}, "checkpoints": {"volume": "models"}}
        del job["queue"]
        job["resources"] = {"cpus": 8, "gpus": 1, "accelerator": {"tier": 2022}}
        settings |= {"volumes": {"models": {"sizeGib": 10, "backend": {"kind": "efs"}}}, "queues": {}}
        found = stack.load(Settings(settings)).config.workloads["job"].pod_sets()
        assert {each.role: each.resources.accelerators for each in found} == {
            "chief": (),
            "worker": ("h100-80gb",),
            "ps": (),
            "evaluator": ("t4",),
        }

    @pytest.mark.parametrize(
        ("settings", "faults"),
        [
            (
                tree({"tier": 2020}, queue=None),
                ["tensorplane:queues.training.gpus.a100-80gb: the queues' quotas are 16 a100-80gb, and workloads"],
            ),
            (
                tree({"tier": 2020, "orNewer": True}, queue=None),
                ["accelerator: is a100-80gb, h100-80gb, but without a queue workers could get different ones and wait"],
            ),
            (
                tree({"tier": 2017}),
                [
                    "accelerator.tier: no node group has GPUs of tier 2017; choose one of 2018 (t4), 2020 (a100-80gb), "
                    "2022 (h100-80gb)"
                ],
            ),
            (tree({"tier": 2024, "orNewer": True}), ["accelerator.tier: no node group has GPUs of tier 2024 or newer"]),
            (tree({"tier": "new"}), ["accelerator.tier: invalid value 'new'; use a whole number"]),
            (tree({"tier": 2020, "newer": True}), ["accelerator.newer: unknown setting; allowed here: orNewer, tier"]),
            (tree({"tier": 2018}, queue="old"), ["gpus: the largest node with t4 has 4 GPUs; set gpus to 4 or less"]),
        ],
    )
    def test_tiers_that_cannot_work_are_refused(self, settings: dict[str, Any], faults: list[str]) -> None:
        found = [line.removeprefix("tensorplane:workloads.job.resources.") for line in problems_of(settings)]
        assert len(found) == len(faults), found
        assert [line[: len(start)] for line, start in zip(found, faults, strict=True)] == faults, found

    def test_without_node_groups_there_are_no_tiers(self) -> None:
        settings = tree({"tier": 2020})
        settings |= {
            "cluster": {"kind": "existing", "context": "c"},
            "nodeGroups": {},
            "queues": {"training": {"cpus": 64, "memoryGib": 512, "gpus": {"any": 16}}},
        }
        (line,) = problems_of(settings)
        assert line.endswith("accelerator: no node group has GPUs of tier 2020; declare one, or remove accelerator")


@pytest.mark.parametrize("strategy", [{"kind": "single"}, {"kind": "multiWorkerMirrored", "workers": 1}])
def test_a_single_process_needs_no_queue(strategy: dict[str, Any]) -> None:
    settings = tree(BOTH, queue=None)
    settings["workloads"]["job"]["strategy"] = strategy
    settings["queues"] = {}
    assert problems_of(settings) == []
