"""Files of a stage that do not fit into one ConfigMap: the pod unpacks them, in any image."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tensorplane.workloads.pipeline import manifest as pipeline_manifest
from tensorplane.workloads.pipeline.manifest import PipelineContext
from tensorplane.workloads.pipeline.settings import PipelineSettings
from tensorplane.workloads.pipeline.stage_pods import StageContext, Stored
from tensorplane.workloads.pods import pod, sources
from tensorplane.workloads.pods.files import bundle
from tensorplane.workloads.pods.mounts import Mountable

_LARGE = {"train.py": b"print(1)", "inner/words.txt": bytes(range(256)) * 9000}
_STAGE = {"command": ["./program"], "inputs": {"texts": "raw"}, "output": "made"}
_SETTINGS = PipelineSettings.model_validate({"stages": {"train": _STAGE}})


def _context(files: dict[str, bytes]) -> PipelineContext:
    stored = {name: Stored(Mountable("data"), f"datasets/{name}", {}) for name in ("raw", "made")}
    stages = {"train": StageContext("team/rust:1", files=files)}
    return PipelineContext("texts", "vision", stages, stored, "python:3", bundle("texts-runtime", sources.steps()), {})


def _work(files: dict[str, bytes]) -> dict[str, Any]:
    made = pipeline_manifest.template(_SETTINGS, _context(files))
    (found,) = (one for one in made["spec"]["templates"] if one["name"] == "train-work")
    return dict(found)


def test_they_are_unpacked_by_the_library_in_an_image_with_python(tmp_path: Path) -> None:
    work = _work(_LARGE)
    (init,) = work["initContainers"]
    assert init["image"] == "python:3"
    volumes = {one["name"]: one for one in work["volumes"]}
    mounted = {one["mountPath"]: volumes[one["name"]] for one in init["volumeMounts"]}
    assert mounted[pod.LIBRARY]["configMap"]["name"] == _context(_LARGE).library.name
    place = {at: Path(f"{tmp_path}{at}") for at in mounted}
    for folder in place.values():
        folder.mkdir(parents=True, exist_ok=True)
    (place[pod.LIBRARY] / pod.ARCHIVE).write_bytes(sources.steps()[pod.ARCHIVE])
    for part in pipeline_manifest.code(_SETTINGS, _context(_LARGE)):
        for path, content in part.content.items():
            (place[f"{pod.APP}-parts"] / path).write_bytes(content)
    python, *arguments = init["command"]
    assert python == "python3"
    here = [f"{tmp_path}{one}" if one.startswith("/") else one for one in arguments]
    subprocess.run([sys.executable, *here], check=True)
    app = place[pod.APP]
    assert {str(path.relative_to(app)): path.read_bytes() for path in app.rglob("*") if path.is_file()} == _LARGE


@pytest.mark.parametrize("files", [{}, {"train.py": b"print(1)"}])
def test_others_need_no_init_container(files: dict[str, bytes]) -> None:
    assert "initContainers" not in _work(files)


@pytest.mark.parametrize("module", ["tensorplane.stages.__main__", "tensorplane.unpack"])
def test_the_library_of_stages_has_all_that_it_imports(tmp_path: Path, module: str) -> None:
    archive = tmp_path / pod.ARCHIVE
    archive.write_bytes(sources.steps()[pod.ARCHIVE])
    program = f"import sys; sys.path.insert(0, {str(archive)!r}); import {module}"
    subprocess.run([sys.executable, "-I", "-S", "-c", program], check=True)
