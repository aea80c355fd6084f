"""References of images: what containerd can read, and nothing else."""

import importlib.metadata
import re
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tensorplane.components import versions
from tensorplane.components.base.value_types import is_image
from tensorplane.images import cusolver, training
from tests.support.problems import dev, problems_of, put
from tests.support.rendering import GPU_IMAGE, PROJECT

DIGEST = f"sha256:{'0123456789abcdef' * 4}"


@pytest.mark.parametrize(
    "reference",
    [
        "train",
        "team/train:1.4",
        "tensorflow/serving:2.19.1-gpu",
        "registry.example.com/a/b/c:v1",
        "registry.example.com:5000/a_b/c__d/e---f.g",
        "localhost:5000/train",
        "10.0.0.1:5000/train:1",
        "[2001:db8::1]:5000/train",
        f"train@{DIGEST}",
        f"registry.example.com/train:1.4@{DIGEST}",
        f"train@sha512:{'0' * 128}",
        f"train:{'a' * 128}",
        "Registry.Example.com/train",
        "a/" * 127 + "a",
    ],
)
def test_references(reference: str) -> None:
    assert is_image(reference)


@pytest.mark.parametrize(
    "reference",
    [
        "",
        " train",
        "train ",
        "train\n",
        "Train",
        "team/Train:1",
        "train:",
        "train:la test",
        "train:-a",
        f"train:{'a' * 129}",
        "train@sha256:abc",
        f"train@{DIGEST.upper()}",
        f"train@{DIGEST}0",
        f"train@md5:{'0' * 32}",
        "https://registry.example.com/train",
        "docker://train",
        "/train",
        "train/",
        "a//b",
        "a..b",
        "a/-b",
        "registry.example.com:port/train",
        "registry.example.com:70000/train",
        "-registry.example.com/train",
        "train\0",
        "träin",
        "0123456789abcdef" * 4,
        "a/" * 127 + "ab",
    ],
)
def test_no_references(reference: str) -> None:
    assert not is_image(reference)


def test_the_pinned_images_are_references() -> None:
    pinned = [*vars(versions.PUBLIC_IMAGES).values(), *vars(versions.EMBEDDED_IMAGES).values(), versions.CEPH_IMAGE]
    assert [image for image in pinned if isinstance(image, str) and not is_image(image)] == []


@pytest.mark.parametrize(
    ("value", "near"),
    [
        ("https://registry.example.com/train:1", "registry.example.com/train:1"),
        ("docker.io/Team/Train:RC1", "docker.io/team/train:RC1"),
        (" train:1 ", "train:1"),
        ("a b", None),
    ],
)
@pytest.mark.parametrize("workload", ["digits", "digits-server"])
def test_an_image_that_no_registry_can_parse_is_a_fault(workload: str, value: Any, near: str | None) -> None:
    tree = dev()
    put(tree, f"workloads/{workload}/image", value)
    (line,) = problems_of(tree)
    assert line.startswith(
        f"tensorplane:workloads.{workload}.image: invalid value {value!r}; use an image as [registry[:port]/]"
    )
    assert line.endswith(f"(did you mean {near}?)") if near else "did you mean" not in line


def test_a_job_with_gpus_names_an_image_that_sees_them() -> None:
    tree = dev()
    tree["cluster"] = {"kind": "existing", "context": "research"}
    del tree["workloads"]["digits"]["queue"]
    assert problems_of(tree) == []
    put(tree, "workloads/digits/resources/gpus", 1)
    (line,) = problems_of(tree)
    assert line == (
        "tensorplane:workloads.digits.image: missing, but the default TensorFlow image does not support "
        "GPUs; build an image for GPUs (docs/training-pods.md#an-image-for-gpus), and set it here"
    )
    put(tree, "workloads/digits/image", GPU_IMAGE)
    put(tree, "workloads/digits-server/resources/gpus", 1)
    assert problems_of(tree) == []


@pytest.mark.parametrize(
    ("image", "sees"),
    [
        ("tensorflow/tensorflow:2.21.0-gpu", False),
        ("docker.io/tensorflow/tensorflow:2.18.0-gpu-jupyter", False),
        ("tensorflow/tensorflow:latest-gpu", False),
        ("tensorflow/tensorflow:2.17.0", False),
        ("tensorflow/tensorflow", False),
        ("tensorflow/tensorflow:2.17.0-gpu", True),
        ("registry.example.com/tensorflow/tensorflow:2.21.0-gpu", True),
    ],
)
def test_images_of_tensorflow_that_see_no_gpu_are_refused_for_jobs_with_gpus(image: str, sees: bool) -> None:
    tree = dev()
    tree["cluster"] = {"kind": "existing", "context": "research"}
    del tree["workloads"]["digits"]["queue"]
    put(tree, "workloads/digits/image", image)
    assert problems_of(tree) == []
    put(tree, "workloads/digits/resources/gpus", 1)
    lines = problems_of(tree)
    assert (
        lines == []
        if sees
        else lines[0].startswith(f"tensorplane:workloads.digits.image: {image!r} does not support GPUs")
    )


def test_no_image_is_asked_for_where_gpus_are_simulated() -> None:
    tree = dev()
    del tree["workloads"]["digits"]["queue"]
    put(tree, "nodeGroups", {"old": {"accelerator": "t4", "max": 2}})
    put(tree, "workloads/digits/resources/gpus", 1)
    assert problems_of(tree) == []


_PIN = re.compile(r"^\s*\"?(?P<name>[a-z]+)(?:\[and-cuda\])?==(?P<version>[0-9.]+)", re.MULTILINE)


def test_the_image_for_gpus_holds_what_the_training_image_holds() -> None:
    built = dict(_PIN.findall((PROJECT / "examples/gpu-image/Dockerfile").read_text()))
    held = dict(
        _PIN.findall((PROJECT / "images/requirements/training.txt").read_text().replace("tensorflow-cpu", "tensorflow"))
    )
    assert built["tensorflow"] == versions.TENSORFLOW
    assert built == {name: held[name] for name in built}
    assert {"tensorflow", "keras"} <= set(built)


def test_the_gpu_variant_has_every_library_that_tensorflow_asks_for() -> None:
    """Its list replaces TensorFlow's lines only; `tensorflow[and-cuda]` is what TensorFlow's wheel declares."""
    lines = [line.partition("#")[0].strip() for line in training.gpu_requirements().splitlines()]
    pins = {canonicalize_name(found.name): found for line in lines if line and (found := Requirement(line))}
    assert "tensorflow-cpu" not in pins
    assert str(pins[canonicalize_name("tensorflow")].specifier) == f"=={versions.TENSORFLOW}"
    declared = map(Requirement, importlib.metadata.requires("tensorflow-cpu") or [])
    libraries = {canonicalize_name(each.name): each for each in declared if "and-cuda" in str(each.marker)}
    assert len(libraries) > 10
    for name, asked in libraries.items():
        [pin] = pins[name].specifier
        assert asked.specifier.contains(pin.version), f"{name} {pin.version} does not fit {asked}"
    assert {name for name in pins if name.startswith("nvidia-")} == set(libraries)


def test_the_gpu_variant_has_the_solver_where_tensorflow_looks_for_it(tmp_path: Path) -> None:
    for name in ("cusolver", "cusparse"):
        (tmp_path / "nvidia" / name / "lib").mkdir(parents=True)
    (tmp_path / "nvidia/cusolver/lib/libcusolver.so.11").write_text("solver")
    cusolver.link(tmp_path)
    found = tmp_path / "nvidia/cusparse/lib/libcusolver.so.11"
    assert found.read_text() == "solver" and not found.readlink().is_absolute()
    [link] = re.findall(r"ln -s (\S+ \S+)/$", (PROJECT / "examples/gpu-image/Dockerfile").read_text(), re.MULTILINE)
    assert link == f"{found.readlink()} cusparse/lib"


def test_the_gpu_variant_finds_the_driver_of_each_cloud() -> None:
    env = training.gpu_image().env
    assert env["LD_LIBRARY_PATH"].split(":")[0] == "/usr/local/nvidia/lib64"  # GKE
    assert "NVIDIA_VISIBLE_DEVICES" not in env  # set by the device plugin: a pod without a GPU sees none
    assert env.items() >= training.image().env.items()
