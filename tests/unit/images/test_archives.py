"""Archives are what `ctr images import` takes, and the lists of packages in them are whole."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import os
import re
import tarfile
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tensorplane import images, toolchain
from tensorplane.components import versions
from tensorplane.core.errors import UserError
from tensorplane.core.paths import PROJECT
from tensorplane.core.step import Step
from tensorplane.driver import up
from tensorplane.driver.requirements import Requirements
from tensorplane.driver.stack_settings import StackSettings
from tensorplane.driver.target import Target
from tensorplane.embedded import cluster
from tensorplane.embedded.cluster import dns
from tensorplane.embedded.cluster.node_config import SANDBOX_IMAGE
from tensorplane.embedded.instance import Instance
from tensorplane.images import add_ons
from tensorplane.images.layer import Recipe
from tensorplane.images.oci import Image, manifest_digest
from tensorplane.toolchain import go_module
from tensorplane.toolchain.go_module import required


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def _image(text: str = "run") -> Image:
    def make(root: Path, step: Step) -> None:
        (root / "program").write_text(text)

    recipe = Recipe("program", make, sources=(), inputs=(text,))
    return Image("example.org/team/program:1.2", (recipe,), entrypoint=("/program",), labels={"a": "b"})


def _blobs(archive: Path) -> dict[str, bytes]:
    with tarfile.open(archive) as opened:
        return {entry.name: opened.extractfile(entry).read() for entry in opened}  # type: ignore[union-attr]


def test_an_archive_is_an_oci_layout_whose_digests_hold() -> None:
    archive = _image().build(Step("test"))
    blobs = _blobs(archive)
    assert json.loads(blobs["oci-layout"]) == {"imageLayoutVersion": "1.0.0"}
    for name, content in blobs.items():
        if name.startswith("blobs/"):
            assert name == f"blobs/sha256/{hashlib.sha256(content).hexdigest()}"

    (entry,) = json.loads(blobs["index.json"])["manifests"]
    assert entry["annotations"]["io.containerd.image.name"] == "example.org/team/program:1.2"
    assert manifest_digest(archive) == entry["digest"]
    manifest = json.loads(blobs["blobs/" + entry["digest"].replace(":", "/")])
    for part in (manifest["config"], *manifest["layers"]):
        assert part["size"] == len(blobs["blobs/" + part["digest"].replace(":", "/")])


def test_an_image_runs_its_program_without_root() -> None:
    blobs = _blobs(_image().build(Step("test")))
    config: dict[str, Any] = next(
        document for content in blobs.values() if content[:1] == b"{" and "rootfs" in (document := json.loads(content))
    )
    assert config["config"]["User"] == "65532:65532"
    assert config["config"]["Entrypoint"] == ["/program"]
    assert config["config"]["Labels"] == {"a": "b"}


def test_an_archive_is_written_once_and_takes_the_place_of_one_that_nobody_uses() -> None:
    archive = _image().build(Step("test"))
    os.utime(archive, (0, 0))
    written = archive.stat().st_mtime_ns
    assert _image().build(Step("test")).stat().st_mtime_ns == written
    newer = _image("other").build(Step("test"))
    assert list(newer.parent.iterdir()) == [newer]


def test_nothing_is_cached_at_first_and_the_add_ons_wait_for_their_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent() -> None:
        raise UserError("not built")

    monkeypatch.setattr(add_ons, "tools", absent)
    tasks = {task.name: task for task in images.tasks()}
    assert sorted(tasks) == ["image add-ons", "image base", "image serving", "image tensorflow", "image train"]
    assert tasks["image add-ons"].after == ("kubernetes",)
    assert "image tensorflow" in tasks["image serving"].after


def test_every_image_has_an_archive_of_its_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    class Tools:
        def path(self, program: str) -> Path:
            return tmp_path / program

    monkeypatch.setattr(add_ons, "tools", Tools)
    archives = images.archives()
    of_workloads = versions.EMBEDDED_IMAGES
    assert set(archives) == {
        SANDBOX_IMAGE,
        dns.IMAGE,
        of_workloads.train,
        of_workloads.serve,
        *(f"{chart.image}:{chart.image_tag}" for chart in (versions.KUEUE, versions.JOBSET)),
    }
    assert len(set(archives.values())) == len(archives)
    with_streams = images.archives(streams=True)
    assert set(with_streams) - set(archives) == {versions.EMBEDDED_KAFKA}
    scaling = images.archives(controllers=go_module.CONTROLLERS)
    charts = (
        versions.METRICS_SERVER,
        versions.KEDA,
        versions.PROMETHEUS,
        versions.TRAEFIK,
        versions.ARGO_WORKFLOWS,
    )
    assert set(scaling) - set(archives) == {
        *(f"{chart.image}:{chart.image_tag}" for chart in charts),
        f"{versions.KEDA.image}-metrics-apiserver:{versions.KEDA.version}",
        f"quay.io/argoproj/argoexec:{versions.ARGO_WORKFLOWS.image_tag}",
    }


@pytest.mark.parametrize(
    ("chart", "name"),
    [
        (versions.KEDA, "keda"),
        (versions.PROMETHEUS, "prometheus"),
        (versions.TRAEFIK, "traefik"),
        (versions.ARGO_WORKFLOWS, "argo-workflows"),
    ],
)
def test_the_embedded_charts_of_controllers_have_the_pinned_versions(chart: versions.Chart, name: str) -> None:
    module = go_module.CONTROLLERS[name]()
    made = yaml.safe_load((module.source / "chart" / "Chart.yaml").read_text())
    assert (made["name"], made["version"], made["appVersion"]) == (chart.name, chart.version, chart.image_tag)
    assert module.release == chart.image_tag


@pytest.mark.parametrize(
    ("chart", "folder", "module"),
    [
        (versions.KUEUE, "tools", "sigs.k8s.io/kueue"),
        (versions.JOBSET, "tools", "sigs.k8s.io/jobset"),
        (versions.DEVICE_PLUGIN, "charts", "github.com/NVIDIA/k8s-device-plugin"),
    ],
)
def test_the_embedded_cluster_has_the_version_that_a_chart_is_pinned_to(
    chart: versions.Chart, folder: str, module: str
) -> None:
    go_mod = PROJECT / "toolchain/go" / folder / "go.mod"
    assert required(go_mod.parent, module) == chart.image_tag, f"{go_mod} and components/versions.py differ"


def test_the_images_hold_the_tensorflow_that_they_are_named_by() -> None:
    for file in ("images/requirements/training.txt", "requirements.txt"):
        pins = re.findall(r"^tensorflow(?:-cpu)?==(\S+)", (PROJECT / file).read_text(), re.MULTILINE)
        assert set(pins) == {versions.TENSORFLOW}, f"{file} and components/versions.py differ"


def test_the_broker_s_image_is_built_where_streams_want_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent() -> None:
        raise UserError("not built")

    monkeypatch.setattr(add_ons, "tools", absent)
    assert "image kafka" not in {task.name for task in images.tasks()}
    assert "image kafka" in {task.name for task in images.tasks(streams=True)}


def _scaled(**load: int) -> dict[str, Any]:
    return {"workloads": {"server": {"kind": "modelServer", "scaling": {"max": 2, **load}}}}


def _exposed(**gateway: Any) -> dict[str, Any]:
    return {"workloads": {"server": {"kind": "modelServer", "expose": {"kind": "gateway", **gateway}}}}


@pytest.mark.parametrize(
    ("sections", "wanted"),
    [
        ({}, {}),
        ({"streams": {"events": {"volume": "events", "topics": {}}}}, {"streams": True}),
        (_scaled(cpu=70), {"controllers": {"metrics-server"}}),
        (_scaled(requestsPerSecond=5), {"controllers": {"keda", "prometheus"}}),
        (
            {**_scaled(latencyMilliseconds=5), "controllers": {"prometheusUrl": "http://prometheus"}},
            {"controllers": {"keda"}},
        ),
        ({"controllers": {"metricsServer": "chart"}}, {"controllers": {"metrics-server"}}),
        ({"controllers": {"keda": "chart"}}, {"controllers": {"keda", "prometheus"}}),
        ({"workloads": {"server": {"kind": "modelServer", "replicas": 2}}}, {}),
        (_exposed(create={"gatewayClass": "traefik"}), {"controllers": {"traefik"}}),
        ({**_exposed(create={"gatewayClass": "traefik"}), "controllers": {"gateway": "present"}}, {}),
        (_exposed(namespace="gateways"), {}),
        ({"controllers": {"gateway": "chart"}}, {"controllers": {"traefik"}}),
        ({"controllers": {"argoWorkflows": "chart"}}, {"controllers": {"argo-workflows"}}),
        ({"workloads": {"clean": {"kind": "pipeline"}}}, {"controllers": {"argo-workflows"}}),
        ({"workloads": {"clean": {"kind": "pipeline"}}, "controllers": {"argoWorkflows": "present"}}, {}),
    ],
)
def test_make_up_builds_and_imports_it_for_a_stack_that_uses_it(
    monkeypatch: pytest.MonkeyPatch, sections: dict[str, Any], wanted: dict[str, Any]
) -> None:
    asked: list[dict[str, Any]] = []

    def record(*_: Any, packages: list[Any], **parts: Any) -> list[Any]:
        assert packages == []
        asked.append({name: part for name, part in parts.items() if part})
        return []

    monkeypatch.setattr(StackSettings, "section", lambda _, name: sections.get(name, {}))
    monkeypatch.setattr(toolchain, "tasks", lambda **_: [])
    monkeypatch.setattr(images, "tasks", record)
    monkeypatch.setattr(cluster, "load_images", record)
    target = Target("", Instance("test"))
    requirements = Requirements(StackSettings("dev", target.home), target.instance)
    [load] = [task for task in up._preparation(target, requirements) if task.name == "load images"]
    load.run(Step("load images"))
    assert asked == [wanted, wanted]


# Package -> where it is said why an image lacks it, or who has it instead.
_LEFT_OUT = {
    "libclang": "images/requirements/training.txt",
    "setuptools": "images/requirements/training.txt",
    "wheel": "images/requirements/training.txt",
    "tensorboard-data-server": "images/requirements/training.txt",
    "tensorflow": "the layer below, as tensorflow-cpu",
}


def _pins(file: str) -> dict[str, str]:
    lines = [line.partition("#")[0].strip() for line in (PROJECT / file).read_text().splitlines()]
    requirements = [Requirement(line) for line in lines if line]
    return {canonicalize_name(r.name): str(r.specifier) for r in requirements if not r.marker or r.marker.evaluate()}


def test_the_lists_of_packages_are_whole_although_nothing_resolves_them() -> None:
    pins = _pins("images/requirements/training.txt") | _pins("images/serving/requirements.txt")
    assert all(re.fullmatch(r"==[\w.]+", pin) for pin in pins.values())
    missing = {}
    absent = set()
    for name in pins:
        try:
            asked = importlib.metadata.requires(name) or []
        except importlib.metadata.PackageNotFoundError:
            absent.add(name)
            continue
        for requirement in map(Requirement, asked):
            wanted = canonicalize_name(requirement.name)
            applies = not requirement.marker or requirement.marker.evaluate({"extra": ""})
            if applies and wanted not in pins and wanted not in _LEFT_OUT:
                missing[name] = wanted
    assert missing == {}
    # They cannot be in this environment (tests/conftest.py), or are not needed in it.
    assert absent == {"tensorflow-serving-api", "grpcio-health-checking"}


def test_what_the_images_hold_is_what_is_tested_here() -> None:
    """The packages that decide what the tests see are the same here and in the images."""
    pins = _pins("images/requirements/training.txt") | _pins("images/serving/requirements.txt")
    for name in ("tensorflow-cpu", "starlette", "uvicorn"):
        if name in pins:
            assert pins[name] == f"=={importlib.metadata.version(name)}"
