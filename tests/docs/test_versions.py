"""docs/versions.md has the versions that are pinned, and what it promises to keep exists."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterator

from tensorplane.components import versions
from tensorplane.components.clusters.eks import check_cluster
from tensorplane.toolchain import pulumi as toolchain_pulumi
from tests.support.rendering import PROJECT

PAGE = PROJECT / "docs" / "versions.md"
_MARKS = ("<!-- generated: the tested versions -->\n\n", "\n\n<!-- end of the tested versions -->")
_EMBEDDED = "run on the embedded cluster"
_READ = "read"


def test_the_tested_versions_are_the_pinned_ones() -> None:
    before, rest = PAGE.read_text().split(_MARKS[0])
    written, after = rest.split(_MARKS[1])
    wanted = "\n".join(_table())
    if os.environ.get("UPDATE_GOLDEN"):
        PAGE.write_text(before + _MARKS[0] + wanted + _MARKS[1] + after)
        written = wanted
    assert written == wanted, "out of date: UPDATE_GOLDEN=1 python -m pytest tests/docs/test_versions.py"


def _table() -> Iterator[str]:
    yield from ("| what | version | how |", "|---|---|---|")
    yield from (f"| {' | '.join(row)} |" for row in (*_kubernetes(), *_controllers(), *_packages()))


def _kubernetes() -> Iterator[tuple[str, str, str]]:
    yield "Kubernetes", _module("tools", "k8s.io/kubernetes"), _EMBEDDED
    for cloud in (versions.OFFERED_BY_GKE, versions.OFFERED_BY_AKS):
        yield f"Kubernetes on {cloud.cloud}", f"1.{cloud.oldest} to 1.{cloud.newest}", _READ
    yield "Kubernetes on EKS", f"{check_cluster.VERSIONS[0]} to {check_cluster.VERSIONS[-1]}", _READ


def _controllers() -> Iterator[tuple[str, str, str]]:
    run = {
        "Kueue": versions.KUEUE,
        "JobSet": versions.JOBSET,
        "Argo Workflows": versions.ARGO_WORKFLOWS,
        "KEDA": versions.KEDA,
        "Prometheus": versions.PROMETHEUS,
        "Traefik, for the Gateway API": versions.TRAEFIK,
        "metrics-server": versions.METRICS_SERVER,
    }
    read = {
        "VolSync": versions.VOLSYNC,
        "NVIDIA's device plugin": versions.DEVICE_PLUGIN,
        "NVIDIA's GPU Operator": versions.GPU_OPERATOR,
        "Karpenter": versions.KARPENTER,
    }
    for charts, how in ((run, _EMBEDDED), (read, _READ)):
        yield from ((name, chart.image_tag.removeprefix("v"), how) for name, chart in charts.items())
    yield "Kafka", versions.KAFKA, _EMBEDDED
    yield "Strimzi's API", versions.STRIMZI_API.rpartition("/")[2], _READ


def _packages() -> Iterator[tuple[str, str, str]]:
    yield "Pulumi's SDK for Python", _pin("pulumi"), "run"
    oldest = ".".join(map(str, toolchain_pulumi.OLDEST))
    built = _module("tools", "github.com/pulumi/pulumi/pkg/v3")
    yield "Pulumi's CLI", built, f"run; one of {oldest} or later is used where it is installed"
    types = "its types; the stand-in of this repository runs"
    yield "Pulumi's provider of Kubernetes", _pin("pulumi-kubernetes"), types
    for cloud, package in (("AWS", "pulumi-aws"), ("Google Cloud", "pulumi-gcp"), ("Azure", "pulumi-azure-native")):
        yield f"Pulumi's provider of {cloud}", _pin(package), "read: its types; previews have a stand-in"
    yield "TensorFlow", _pin("tensorflow"), "run on CPUs; `make test-gpu` ran it on GPUs, without Kubernetes"
    yield (
        "TensorFlow Serving",
        versions.PUBLIC_IMAGES.serve.rpartition(":")[2],
        "read: the embedded cluster has a stand-in",
    )
    yield "Python of stacks and commands", "3.11", "run"
    yield (
        "Python of stacks and commands",
        "3.12, 3.13",
        "the wheel's commands start; unit tests of commands have run, no others",
    )
    python = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]["requires-python"].removeprefix(">=")
    yield "Python of the library in pods", f"{python} and later", "run in 3.11; its code is searched for what 3.9 lacks"


def _module(folder: str, name: str) -> str:
    text = (PROJECT / "toolchain" / "go" / folder / "go.mod").read_text()
    return _first(rf"^\s*{re.escape(name)} v(\S+)", text)


def _pin(package: str) -> str:
    files = ("requirements.txt", "requirements-aks.txt")
    return _first(rf"^{package}==([^ ;]+)", "".join((PROJECT / file).read_text() for file in files))


def _first(pattern: str, text: str) -> str:
    found = re.search(pattern, text, re.MULTILINE)
    assert found, pattern
    return found[1]
