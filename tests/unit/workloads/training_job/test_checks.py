"""Settings of a job that Kubernetes would refuse, or that could not work, are refused with the remedy."""

from __future__ import annotations

from typing import Any

import pytest

from tensorplane import stack
from tensorplane.components.base.problems import Key
from tensorplane.components.base.settings import Settings
from tensorplane.workloads.family import WorkloadArgs
from tensorplane.workloads.training_job import tensorflow_image
from tests.support.problems import CPU, EKS, dev, problems_of
from tests.support.rendered_files import rendered_tree

_CIDR = "use addresses as a CIDR, such as 203.0.113.0/24, or internet"


def problems_with(**settings: Any) -> list[str]:
    """The faults of the dev stack's job with other settings, without its path."""
    tree = dev()
    job = tree["workloads"]["digits"]
    job.update(settings)
    tree["workloads"]["digits"] = {key: value for key, value in job.items() if value is not None}
    return [line.removeprefix("tensorplane:workloads.digits.") for line in problems_of(tree)]


@pytest.mark.parametrize(
    ("settings", "faults"),
    [
        ({"egress": "internet"}, []),
        ({"egress": ["internet", {"cidr": "10.20.0.0/16", "ports": [443]}]}, []),
        (
            {"egress": ["pypi.org"]},
            [f"egress.0.cidr: invalid value 'pypi.org'; {_CIDR}; a NetworkPolicy knows no host names"],
        ),
        (
            {"egress": [{"cidr": "10.20.1.0/16"}]},
            [f"egress.0.cidr: invalid value '10.20.1.0/16'; {_CIDR} (did you mean 10.20.0.0/16?)"],
        ),
        (
            {"egress": ["0.0.0.0/0"]},
            [
                "egress.0.cidr: invalid value '0.0.0.0/0'; use a range without 169.254.169.254, where clouds give out "
                "the node's credentials; internet has none"
            ],
        ),
        ({"egress": [{"cidr": "internet", "ports": [0]}]}, ["egress.0.ports.0: invalid value 0; use 1 or more"]),
        ({"egress": [{"ports": [443]}]}, ["egress.0.cidr: required setting is missing: Addresses as a CIDR, or"]),
        ({"env": {"TOKEN": {"secret": "hub", "key": "token"}}}, []),
        ({"env": {"TOKEN": {"secret": "hub"}}}, ["env.TOKEN.key: required setting is missing: Key in the Secret"]),
        (
            {"env": {"TOKEN": {"secret": "hub", "key": "a b"}}},
            [
                "env.TOKEN.key: invalid value 'a b'; use a key of a Secret: letters, digits, dashes, dots and "
                "underscores"
            ],
        ),
        (
            {"env": {"TOKEN": {"secret": "hub", "kye": "token"}}},
            ["env.TOKEN.kye: unknown setting; allowed here: key, secret (did you mean key?)"],
        ),
        (
            {"env": {"TOKEN": ["hub"]}},
            ["env.TOKEN: invalid value (a list); use text (quote it if it looks like a number or boolean)"],
        ),
        (
            {"env": {"TENSORBOARD_DIR": "/x"}},
            ["env.TENSORBOARD_DIR: invalid value 'TENSORBOARD_DIR'; use another name"],
        ),
        ({"deadlineSeconds": 0}, ["deadlineSeconds: invalid value 0; use 1 or more"]),
        ({"progressDeadlineSeconds": 300}, []),
        ({"progressDeadlineSeconds": 9}, ["progressDeadlineSeconds: invalid value 9; use 10 or more"]),
        (
            {"progressDeadlineSeconds": 300, "command": ["sh", "train.sh"]},
            ["progressDeadlineSeconds: is set, but 'sh' is not Python, with which each pod watches its steps; start"],
        ),
        (
            {"progressDeadlineSeconds": 300, "deadlineSeconds": 300},
            ["progressDeadlineSeconds: is 300, but deadlineSeconds is 300, so it never ends a pod; lower or remove it"],
        ),
        ({"resources": {"memoryGib": 1, "sharedMemoryGib": 1}, "queue": None}, []),
        (
            {"resources": {"memoryGib": 1, "sharedMemoryGib": 2}, "queue": None},
            ["resources.sharedMemoryGib: is 2, but the pod has 1 GiB of memory, which includes /dev/shm; raise"],
        ),
        ({"resources": {"extended": {"example.com/fpga": 1}}, "queue": None}, []),
        (
            {"resources": {"extended": {"nvidia.com/gpu": 1}}, "queue": None},
            [
                "resources.extended.nvidia.com/gpu: invalid value 'nvidia.com/gpu'; use another resource; accelerators "
                "are requested with gpus"
            ],
        ),
        (
            {"resources": {"extended": {"efa": 1}}, "queue": None},
            ["resources.extended.efa: invalid value 'efa'; use the name of an extended resource, such as"],
        ),
        ({"tensorboard": {"volume": "models"}}, []),
        ({"tensorboard": {"volume": "modles"}}, ["tensorboard.volume: "]),
    ],
)
def test_settings_of_a_job(settings: dict[str, Any], faults: list[str]) -> None:
    found = problems_with(**settings)
    assert len(found) == len(faults)
    assert all(line.startswith(start) for line, start in zip(found, faults, strict=True)), found


class TestNewGpus:
    """TensorFlow's own wheels do not run on Blackwell: the job would fail in its first kernel."""

    def loaded(self, image: str, accelerator: str = "b200") -> dict[str, Any]:
        job = {
            "kind": "trainingJob",
            "strategy": {"kind": "single"},
            "command": ["python3", "-c", "pass"],
            "image": image,
            "resources": {"gpus": 8},
        }
        group = {"accelerator": accelerator, "perNode": 8, "max": 1, "zones": ["us-west-2a"]}
        return {"cluster": EKS, "nodeGroups": {"cpu": CPU, "new": group}, "workloads": {"job": job}}

    def test_the_official_image_is_refused(self) -> None:
        (line,) = problems_of(self.loaded("tensorflow/tensorflow:2.17.0-gpu"))
        assert line.startswith(
            "tensorplane:workloads.job.resources.gpus: TensorFlow's wheels, which tensorflow/tensorflow:2.17.0-gpu "
            "has, do not run on b200; choose another accelerator, or an image with NVIDIA's build"
        )
        assert problems_of(self.loaded("tensorflow/tensorflow:2.17.0-gpu", "h100-80gb")) == []

    @pytest.mark.parametrize(
        ("accelerator", "at"),
        [
            (["b200", "h100-80gb"], "accelerator"),
            ({"tier": 2022, "orNewer": True}, "accelerator"),
            (["rtx-pro-6000", "h100-80gb"], "accelerator"),
            # Without a model, its pods may run on any.
            (None, "gpus"),
        ],
    )
    def test_one_of_several_that_does_not_run_them_is_refused(self, accelerator: Any, at: str) -> None:
        tree = self.loaded("tensorflow/tensorflow:2.17.0-gpu")
        bad = "rtx-pro-6000" if accelerator and "rtx-pro-6000" in accelerator else "b200"
        tree["nodeGroups"]["new"]["accelerator"] = bad
        tree["nodeGroups"]["new"]["perNode"] = 8
        tree["nodeGroups"]["old"] = {**tree["nodeGroups"]["new"], "accelerator": "h100-80gb"}
        if accelerator:
            tree["workloads"]["job"]["resources"]["accelerator"] = accelerator
        (line,) = problems_of(tree)
        assert line.startswith(
            f"tensorplane:workloads.job.resources.{at}: TensorFlow's wheels, which tensorflow/tensorflow:2.17.0-gpu "
            f"has, do not run on {bad}; set accelerator to h100-80gb, or an image with NVIDIA's build"
        )
        tree["workloads"]["job"]["resources"]["accelerator"] = ["h100-80gb"]
        assert problems_of(tree) == []

    @pytest.mark.parametrize(
        ("image", "noted"), [("team/train-gpu:1", True), ("nvcr.io/nvidia/tensorflow:25.02-tf2-py3", False)]
    )
    def test_other_images_are_noted_unless_nvidia_builds_them(self, image: str, noted: bool) -> None:
        resolved = stack.load(Settings(self.loaded(image)))
        jobs: dict[Key, WorkloadArgs] = {("workloads", name): job for name, job in resolved.config.workloads.items()}
        found = list(tensorflow_image.gpu_support_notes(jobs, resolved.platform.fleet))
        assert [note.path for note in found] == ([("workloads", "job", "image")] if noted else [])


def test_every_policy_of_a_job_is_registered() -> None:
    tree = dev()
    tree["workloads"]["digits"]["egress"] = "internet"
    rendered = rendered_tree(tree)
    names = {policy.inputs["metadata"]["name"] for policy in rendered.all("NetworkPolicy")}
    assert {"digits-peers", "digits-egress"} <= names
