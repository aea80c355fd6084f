"""Packages of a job, and images of any language: from pip's index and from archives to a pod that runs them."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import secrets
import tarfile
from pathlib import Path
from typing import Any

import pytest

from tensorplane import images, toolchain
from tensorplane.cli.training_jobs import jobset_api
from tensorplane.core.errors import ApiError
from tensorplane.core.gvk import GVK
from tensorplane.core.kube import Kube
from tensorplane.core.kube_objects import Objects
from tensorplane.core.step import Step
from tensorplane.embedded import cluster
from tensorplane.images import archive, oci, package_layer, package_resolution
from tensorplane.stack_file import package_lock
from tensorplane.workloads.pods import sources
from tensorplane.workloads.training_job.context import JobContext, Placement
from tensorplane.workloads.training_job.manifest import plan
from tensorplane.workloads.training_job.settings import JobSettings
from tests.e2e.conftest import Deployed
from tests.support.waiting import eventually

pytestmark = pytest.mark.nightly("resolves and installs a package, and loads images; unit tests tell how")

_PROGRAM = """
import importlib.util, humanize, tensorboard
print("written", humanize.intcomma(1234567), all(map(importlib.util.find_spec, ["tensorflow", "tf_keras"])))
"""


def _run(deployed: Deployed, name: str, image: str, command: list[str]) -> str:
    """The log of a job's only pod, once it has succeeded."""
    settings = JobSettings.model_validate(
        {
            "command": command,
            "strategy": {"kind": "single"},
            "resources": {"cpus": 0.1, "memoryGib": 1},
        }
    )
    own = f"{name}-{secrets.token_hex(3)}"
    facts = JobContext(own, deployed.outputs.namespace, placement={"worker": Placement()}, library=sources.library())
    manifest = plan(settings, facts, image=image)
    api = Objects(Kube.of(deployed.instance.kubeconfig))
    pods = f"/api/v1/namespaces/{facts.namespace}/pods"
    selector = f"jobset.sigs.k8s.io/jobset-name={manifest.run.name}"

    def found() -> list[dict[str, Any]]:
        return deployed.kube.items(pods, labelSelector=selector)

    def ended() -> str:
        return jobset_api.outcome(deployed.kube.get(jobset_api.path(manifest.job_set)) or {})

    try:
        for each in manifest.objects:
            api.create(each, manager="test")
        how = eventually(ended, about=lambda: [pod["status"] for pod in found()])
        logs = [deployed.kube.text(f"{pods}/{pod['metadata']['name']}/log") for pod in found()]
        assert how == "finished", logs
        return "".join(logs)
    finally:
        for each in manifest.objects:
            about = each["metadata"]
            with contextlib.suppress(ApiError):
                api.delete(GVK.of(each), about["name"], about["namespace"])


def test_a_job_imports_its_packages_beside_those_of_the_training_image(deployed: Deployed) -> None:
    step = Step("packages")
    locked = package_resolution.resolve(["humanize==4.9.0"], package_lock.pins(), step)
    for task in images.tasks(packages=[locked]):
        if task.name.startswith("image packages"):
            task.run(step)
    cluster.load_images(deployed.instance, step, packages=[locked])
    log = _run(deployed, "with-packages", package_layer.image(locked).name, ["python3", "-c", _PROGRAM])
    assert "written 1,234,567 True" in log


@pytest.mark.parametrize("form", ["docker save", "unnamed"])
def test_a_program_of_another_language_runs_from_a_loaded_archive(
    deployed: Deployed, tmp_path: Path, form: str
) -> None:
    named = form == "docker save"
    saved = _saved(tmp_path, toolchain.tools().path("coredns"), "team/go-program:1" if named else None)
    names = archive.names(saved) if named else ["docker.io/team/other:1"]
    cluster.load_archive(deployed.instance, saved, names, Step("load"), rename=not named)
    image = "team/go-program:1" if named else "team/other:1"
    assert "CoreDNS-" in _run(deployed, f"go-{int(named)}", image, ["/program", "-version"])


def _saved(folder: Path, program: Path, name: str | None) -> Path:
    """An image of one static program, in the form of `docker save`."""
    layer = io.BytesIO()
    with tarfile.open(fileobj=layer, mode="w") as packed:
        packed.add(program, "program")
    diff_id = hashlib.sha256(layer.getvalue()).hexdigest()
    configuration = {
        "architecture": oci.architecture(),
        "os": "linux",
        "config": {},
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{diff_id}"]},
    }
    manifest = [{"Config": "config.json", "RepoTags": [name] if name else None, "Layers": ["layer.tar"]}]
    target = folder / "saved.tar"
    with tarfile.open(target, "w") as made:
        for path, data in (
            ("config.json", json.dumps(configuration).encode()),
            ("layer.tar", layer.getvalue()),
            ("manifest.json", json.dumps(manifest).encode()),
        ):
            entry = tarfile.TarInfo(path)
            entry.size = len(data)
            made.addfile(entry, io.BytesIO(data))
    return target
