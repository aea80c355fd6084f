"""References of images: what containerd can read, and nothing else."""

from typing import Any

import pytest

from components import versions
from components.image import is_reference
from tests.unit.test_bad_settings import dev, faults_of, put

DIGEST = f"sha256:{'0123456789abcdef' * 4}"


@pytest.mark.parametrize(
    "reference",
    [
        "train",
        "team/train:1.4",
        "tensorflow/tensorflow:2.21.0-gpu",
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
    assert is_reference(reference)


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
    assert not is_reference(reference)


def test_the_pinned_images_are_references() -> None:
    pinned = [*vars(versions.images("eks")).values(), *vars(versions.images("embedded")).values(), versions.CEPH_IMAGE]
    assert [image for image in pinned if not is_reference(image)] == []


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
    (line,) = faults_of(tree)
    assert line.startswith(
        f"tensorplane:workloads.{workload}.image: got {value!r}, need an image as [registry[:port]/]"
    )
    assert line.endswith(f"(did you mean {near}?)") if near else "did you mean" not in line
