"""What a published version says of its origin, and that the chief publishes a model alone."""

from __future__ import annotations

import base64
import io
import json
import os
import platform
import re
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tensorflow import keras

import tensorplane
from tensorplane import declared_lineage, job_files, lineage, provenance, seeds
from tensorplane.datasets import Dataset, reads
from tensorplane.workloads.training_job import lineage as manifests
from tensorplane.workloads.training_job.run import Decisive
from tests.runtime.launching import IN_PODS, PROJECT, environments, gang

_JOB = {"job": "digits", "run": "digits-1", "image": "train:1", "code": "code-1", "data": {"volumes": {"a": "/a"}}}


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TENSORPLANE_LINEAGE", "CHECKPOINT_DIR", "MODEL_DIR", "TF_CONFIG", "TENSORPLANE_RUN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(lineage, "_noted", {})
    monkeypatch.setattr(reads, "_noted", [])


def _model() -> keras.Model:
    return keras.Sequential([keras.Input((2,)), keras.layers.BatchNormalization(), keras.layers.Dense(1)])


def _published(base: Path, version: int) -> dict[str, Any]:
    found = json.loads((base / str(version) / "assets.extra/lineage.json").read_text())
    assert isinstance(found, dict)
    return found


def test_the_library_reads_what_the_jobs_settings_state() -> None:
    decisive = Decisive({"image": "train:1", "code": "code-1", "data": {"volumes": {"a": "/a"}, "streams": {}}})
    (variable,) = manifests.variables("digits", "digits-1", decisive)
    assert variable["name"] == declared_lineage.VARIABLE
    assert json.loads(variable["value"]) == _JOB


def test_a_model_is_published_with_its_origin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TENSORPLANE_LINEAGE", json.dumps(_JOB))
    monkeypatch.setenv("MODEL_DIR", str(tmp_path / "model"))
    tensorplane.dataset(3, lambda index: index, global_batch=1, cache=tmp_path / "cache")
    lineage.note(steps=600, metrics={"loss": 0.25}, checkpoint=600)
    model = _model()
    assert tensorplane.publish(model) == 1
    found = _published(tmp_path / "model", 1)
    assert found.pop("published").startswith("20")
    versions = found.pop("versions")
    assert (versions["tensorplane"], versions["tensorflow"]) == (tensorplane.__version__, tf.__version__)
    assert versions["keras"] == keras.__version__
    assert found.pop("runSeed") == seeds.of_run({})
    found.pop("seed", None)  # of TensorFlow in this process
    (machine,) = found.pop("machines")
    assert (machine["kernel"], machine["library"]) == (platform.release(), tensorplane.__version__)
    dataset = {"examples": 3, "fingerprint": next((tmp_path / "cache").iterdir()).name}
    assert found == {
        **_JOB,
        "data": {"volumes": {"a": "/a"}, "dataset": dataset},
        "steps": 600,
        "checkpoint": 600,
        "metrics": {"loss": 0.25},
    }
    served = tf.saved_model.load(str(tmp_path / "model/1")).signatures["serving_default"]
    (output,) = served(tf.ones([1, 2])).values()
    assert np.allclose(output, model(tf.ones([1, 2])))
    assert tensorplane.publish(model) == 1, "a run that was restarted after it published"


def test_outside_a_job_each_call_publishes_another_version(tmp_path: Path) -> None:
    versions = [tensorplane.publish(_model(), tmp_path, metrics={"accuracy": 0.9}) for _ in range(2)]
    assert versions == [1, 2]
    found = _published(tmp_path, 2)
    found.pop("seed", None)
    assert set(found) == {"run", "versions", "metrics", "published", "machines"}
    assert found["metrics"] == {"accuracy": 0.9}


def test_a_module_of_tensorflow_is_published(tmp_path: Path) -> None:
    class Doubled(tf.Module):  # type: ignore[misc]  # TensorFlow has no types
        @tf.function(input_signature=[tf.TensorSpec([None])])  # type: ignore[untyped-decorator]
        def __call__(self, x: tf.Tensor) -> tf.Tensor:
            return 2 * x

    assert tensorplane.publish(Doubled(), tmp_path) == 1
    assert tf.saved_model.load(str(tmp_path / "1"))([3.0]).numpy().tolist() == [6.0]


def test_without_a_folder_the_line_names_the_variable() -> None:
    with pytest.raises(ValueError, match=r"MODEL_DIR is not set; .*`tensorplane run`: --volume"):
        tensorplane.publish(_model())


def _job_on(volume: Path, monkeypatch: pytest.MonkeyPatch, **more: Any) -> None:
    job = {"run": "digits-1", "data": {"volumes": {"data": str(volume)}}, **more}
    monkeypatch.setenv("TENSORPLANE_LINEAGE", json.dumps(job))


def _commit(dataset: Dataset, folder: Path, content: str) -> str:
    folder.mkdir(exist_ok=True)
    (folder / "0").write_text(content)
    return dataset.commit(folder).version


def test_versions_that_a_job_reads_are_its_inputs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dataset, other = Dataset(tmp_path / "datasets/raw"), Dataset(tmp_path / "elsewhere/clean")
    first = _commit(dataset, tmp_path / "files", "1")
    second = _commit(dataset, tmp_path / "files", "2")
    third = _commit(other, tmp_path / "files", "3")
    dataset.open()
    assert reads.noted() == [], "outside training jobs nothing is noted"
    _job_on(tmp_path, monkeypatch)
    dataset.open()
    dataset.open("main")
    dataset.checkout("main~1", tmp_path / "copy")
    # A program that reads a version's folder without the library.
    monkeypatch.setenv("DATA", f"{tmp_path}/elsewhere/clean/versions/{third}/0")
    found = lineage.record("digits-1")["inputs"]
    assert [(each["dataset"], each["path"], each["version"]) for each in found] == [
        ("clean", "elsewhere/clean", third),
        *sorted([("raw", "datasets/raw", first), ("raw", "datasets/raw", second)]),
    ]
    assert {each["volume"] for each in found} == {"data"}
    assert {each.get("reference") for each in found} == {None, "main", "main~1"}


def test_what_the_pods_of_a_stage_have_in_in_is_an_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    raw, other = "a" * 64, _commit(Dataset(tmp_path / "datasets/other"), tmp_path / "files", "1")
    folders = {"raw": f"datasets/raw/versions/{raw}", "other": f"datasets/other/versions/{other}"}
    inputs = [{"dataset": name, "folder": folder} for name, folder in folders.items()]
    _job_on(tmp_path, monkeypatch)
    monkeypatch.setenv(declared_lineage.STAGE, json.dumps({"pipeline": "photos", "stage": "train", "inputs": inputs}))
    monkeypatch.setenv("DATA", f"{tmp_path}/{folders['other']}")
    found = lineage.record("photos-train-1")
    assert (found["pipeline"], found["stage"], found["run"]) == ("photos", "train", "photos-train-1")
    assert [(each["dataset"], each["version"]) for each in found["inputs"]] == [("other", other), ("raw", raw)]


def test_reads_of_other_pods_and_before_a_restart_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dataset = Dataset(tmp_path / "raw")
    version = _commit(dataset, tmp_path / "files", "1")
    _job_on(tmp_path, monkeypatch)
    monkeypatch.setenv("TENSORPLANE_RUN", str(tmp_path / "checkpoints" / "digits-1"))
    command = [sys.executable, "-m", "tensorplane.datasets", "open", str(tmp_path / "raw")]
    subprocess.run(command, input="{}\n", text=True, check=True, env={**os.environ, "PYTHONPATH": IN_PODS})
    (tmp_path / "checkpoints" / ".digits-1.reads" / "killed").write_text('{"dataset": "ra')
    assert [each["version"] for each in lineage.record("digits-1")["inputs"]] == [version]


def test_a_job_that_makes_a_model_again_reads_what_was_read_then(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset = Dataset(tmp_path / "raw")
    then = _commit(dataset, tmp_path / "files", "1")
    _job_on(tmp_path, monkeypatch)
    monkeypatch.setenv("CHECKPOINT_DIR", "/models/checkpoints/digits-1")
    dataset.open()
    before = lineage.record("digits-1")
    now = _commit(dataset, tmp_path / "files", "2")
    monkeypatch.setattr(reads, "_noted", [])
    kept = {key: before[key] for key in ("runSeed", "inputs")}
    _job_on(tmp_path, monkeypatch, run="again-1", reproduces=kept)
    monkeypatch.setenv("CHECKPOINT_DIR", "/models/checkpoints/again-1")
    assert dataset.open("main").name == then
    assert dataset.open(now).name == now, "a reference that was not read then"
    assert seeds.of_run() == before["runSeed"] != seeds.of_run({"CHECKPOINT_DIR": "again-1"})


def test_the_documented_program_commits_with_its_inputs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    *_, program = re.findall(r"(?ms)^```python\n(.*?)^```", (PROJECT / "docs" / "lineage.md").read_text())
    version = _commit(Dataset(tmp_path / "datasets/raw"), tmp_path / "out", "1")
    exec(program.replace("/data/", f"{tmp_path}/"), {})
    found = Dataset(tmp_path / "datasets/clean").resolve()
    assert [each["version"] for each in found.provenance["inputs"]] == [version]
    assert set(found.provenance) <= set(re.findall(r"^    (\w+)", lineage.__doc__ or "", re.MULTILINE))


def test_a_version_keeps_the_files_of_its_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mounted = tmp_path / "mounted"
    (mounted / "..2026_1" / "tools").mkdir(parents=True)
    (mounted / "..2026_1" / "train.py").write_text("print(1)")
    (mounted / "train.py").symlink_to("..2026_1/train.py")
    (mounted / "tools").mkdir()
    (mounted / "tools" / "a.py").write_text("a = 1")
    monkeypatch.setattr(job_files.write_archive, "__defaults__", (mounted,))
    tensorplane.publish(_model(), tmp_path / "model")
    found = provenance.of(tmp_path / "model", code=True)
    with zipfile.ZipFile(io.BytesIO(base64.b64decode(found["code"]))) as archive:
        assert {name: archive.read(name).decode() for name in archive.namelist()} == {
            "tools/a.py": "a = 1",
            "train.py": "print(1)",
        }


_PROGRAM = """
import os
import tensorflow as tf, keras, tensorplane
from tensorplane.cluster import Place

chief = Place.current().is_chief
strategy = tf.distribute.MultiWorkerMirroredStrategy()
class Own(keras.Model):
    def __init__(self):
        super().__init__()
        self.dense = keras.layers.Dense(1)
    def call(self, x):
        return self.dense(x)
with strategy.scope():
    copied = keras.Sequential([keras.Input((2,)), keras.layers.BatchNormalization(), keras.layers.Dense(1)])
    own = Own()
    own(tf.ones([1, 2]))
base = os.environ["BASE"]
if not chief:
    assert tensorplane.publish(copied, base) is None
    print("left", flush=True)
    os._exit(0)
print("waits", flush=True)
from pathlib import Path
for name, model in (("copied", copied), ("own", own)):
    assert tensorplane.publish(model, Path(base) / name) == 1
    served = tf.saved_model.load(f"{base}/{name}/1").signatures["serving_default"]
    (output,) = served(tf.ones([1, 2])).values()
    assert abs(float(output[0, 0]) - float(model(tf.ones([1, 2]))[0, 0])) < 1e-6, name
print("published", flush=True)
os._exit(0)
"""


def test_the_chief_publishes_when_the_other_workers_have_left(tmp_path: Path) -> None:
    with gang(tmp_path, _PROGRAM, tasks=environments(2), hold_after="waits", BASE=str(tmp_path)) as workers:
        chief, other = workers.processes
        assert other.wait() == 0, other.output
        assert "left\n" in other.output
        workers.go()
        assert chief.wait() == 0, chief.output[-3000:]
        assert "published\n" in chief.output


def test_two_runs_that_publish_at_once_get_a_version_each(tmp_path: Path) -> None:
    def slow(folder: Path) -> None:
        assert tensorplane.publish(lambda other: other.mkdir(), tmp_path, run="other") == 1
        folder.mkdir()

    assert tensorplane.publish(slow, tmp_path, run="slow") == 2
