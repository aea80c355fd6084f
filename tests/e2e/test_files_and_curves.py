"""`tensorplane cp` and `tensorboard`: files go to a volume and back, and the curves of real runs are seen."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

import stack
from cli.access import Access
from cli.commands.cp import query as cp
from cli.commands.tensorboard import query as board
from components.base.settings import Settings
from driver import linked_project
from embedded.cluster import pool
from embedded.cluster.places import Places
from embedded.fault import Fault
from embedded.step import Step
from stack_file import read
from tests.e2e.conftest import Deployed
from tests.support import command
from tests.support.waiting import PATIENT_SECONDS, eventually

TRAINS = """
import keras
import numpy as np

import tensorplane

x = np.random.default_rng(7).normal(size=(256, 1)).astype("float32")
with tensorplane.strategy().scope():
    model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1)])
    model.compile(optimizer=keras.optimizers.Adam(0.05), loss="mse")
tensorplane.fit(model, x, 3 * x + 1, batch_size=64, epochs=3)
"""
NAMESPACE = "tensorplane-files"
SETTINGS = """
config:
  tensorplane:namespace: tensorplane-files
  tensorplane:volumes:
    logs: {sizeGib: 1, retain: false}
    closed: {sizeGib: 1, retain: false, writers: [curves]}
    grouped: {sizeGib: 1, retain: false, readers: ["group:system:masters"]}
  tensorplane:workloads:
    curves:
      kind: tensorboard
      logs: {volume: logs}
      resources: {cpus: 0.1, memoryGib: 1}
"""


def _pods(deployed: Deployed, part: str, namespace: str = "tensorplane-dev") -> list[str]:
    selector = f"app.kubernetes.io/component={part}"
    found = deployed.kube.items(f"/api/v1/namespaces/{namespace}/pods", labelSelector=selector)
    return [pod["metadata"]["name"] for pod in found]


def _tree(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_folder_goes_to_a_volume_and_back_and_an_interrupted_copy_goes_on(deployed: Deployed, tmp_path: Path) -> None:
    source = tmp_path / "photos"
    for index in range(200):
        path = source / f"class-{index % 7}" / f"{index}.bin"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(os.urandom(index * 100))
    (source / "large").write_bytes(os.urandom(1 << 20) * 120)
    begun = subprocess.Popen(command.argv("cp", "photos", "models:/sets/photos"), cwd=tmp_path, stdout=subprocess.PIPE)
    eventually(lambda: _pods(deployed, "copy"))
    time.sleep(1)
    begun.send_signal(signal.SIGINT)
    code = begun.wait(PATIENT_SECONDS)
    assert code in (0, 130)
    assert _pods(deployed, "copy") == []
    told = command.output(tmp_path, "cp", "photos", "models:/sets/photos")
    # On a quick machine, everything was copied before the signal.
    assert re.search(r"^models:/sets/photos: \d+ files?, .*/s\)", told) or code == 0, told
    again = command.output(tmp_path, "cp", "photos", "models:/sets/")
    assert again == "models:/sets/photos: 0 files, 0 B; 201 files unchanged\n"
    assert command.output(tmp_path, "cp", "models:/sets/photos", "back").startswith("back: 201 files, ")
    assert _tree(tmp_path / "back") == _tree(source)
    assert "models:/sets/nothing: does not exist" in command.output(tmp_path, "cp", "models:/sets/nothing", ".", code=1)
    assert _pods(deployed, "copy") == []


def test_a_volume_is_mounted_on_the_machine_until_the_cluster_stops(deployed: Deployed, tmp_path: Path) -> None:
    (tmp_path / "note").write_text("from a pod")
    mounted, again = tmp_path / "mounted", tmp_path / "again"
    told = command.output(tmp_path, "volumes", "mount", "models", "mounted")
    assert told == f"{mounted}: volume models, mounted; unmount it with: umount {mounted}\n"
    command.output(tmp_path, "cp", "note", "models:/notes/")
    assert (mounted / "notes/note").read_text() == "from a pod"
    (mounted / "of-machine").write_text("from the machine")
    command.output(tmp_path, "cp", "models:/of-machine", ".")
    assert (tmp_path / "of-machine").read_text() == "from the machine"
    assert "is not empty" in command.output(tmp_path, "volumes", "mount", "models", "mounted", code=1)
    command.output(tmp_path, "volumes", "mount", "models", "again", "--read-only")
    with pytest.raises(OSError, match="Read-only"):
        (again / "b").touch()
    # As `make down` does, before it ends anything.
    at = Places(deployed.instance)
    with (mounted / "of-machine").open(), pytest.raises(Fault, match=f"{mounted}: a volume is mounted there .*busy"):
        pool.unmount_volumes(at)
    pool.unmount_volumes(at)
    assert not mounted.is_mount()
    assert not again.is_mount()


@contextmanager
def _shown(folder: Path, *words: str) -> Iterator[str]:
    """The address that `tensorplane tensorboard` prints, until Ctrl-C."""
    shown = subprocess.Popen(command.argv("tensorboard", *words), cwd=folder, stdout=subprocess.PIPE, text=True)
    assert shown.stdout
    try:
        lines: list[str] = []
        while not (found := re.search(r"http://127\.0\.0\.1:\d+/", "".join(lines))):
            line = shown.stdout.readline()
            assert line, lines
            lines.append(line)
        yield found[0]
    finally:
        shown.send_signal(signal.SIGINT)
        try:
            shown.wait(60)
        except subprocess.TimeoutExpired:
            # A busy Python may lose the exception of a signal, in a callback; a person presses Ctrl-C again.
            shown.send_signal(signal.SIGINT)
        assert shown.wait(120) == 0


def _json(url: str) -> Any:
    with urllib.request.urlopen(url, timeout=PATIENT_SECONDS) as answer:
        return json.load(answer)


def _losses(url: str, run: str) -> list[float]:
    """The values of the scalar `loss`, as TensorBoard's page asks for them."""
    eventually(lambda: "loss" in _json(f"{url}data/plugin/scalars/tags").get(run, {}))
    points = _json(f"{url}data/plugin/scalars/scalars?run={run}&tag=loss")
    return [value for _, _, value in points]


@pytest.fixture
def run(deployed: Deployed, tmp_path: Path) -> Iterator[str]:
    """A run that has ended, in the cluster until the test has, too."""
    (tmp_path / "curve.py").write_text(TRAINS)
    options = ("--queue", "training", "--cpus", "0.3", "--memory-gib", "1", "--volume", "models:/models")
    told = command.output(tmp_path, "run", *options, "--", "python", "curve.py")
    run = re.findall(r"^(curve-\w+): submitted", told, re.MULTILINE)[0]
    yield run
    deployed.kube.delete(f"/apis/jobset.x-k8s.io/v1alpha2/namespaces/tensorplane-dev/jobsets/{run}")


def test_the_curves_of_a_job_are_seen_after_its_end(deployed: Deployed, tmp_path: Path, run: str) -> None:
    with _shown(tmp_path, run) as url:
        losses = _losses(url, run)
        assert len(losses) >= 2
        assert losses[-1] < losses[0]
        assert [name.startswith(f"{run}-tensorboard-") for name in _pods(deployed, "tensorboard")] == [True]
    assert _pods(deployed, "tensorboard") == [], "its pod is deleted"
    refused = command.output(tmp_path, "tensorboard", "digits-server", code=1)
    assert refused == "digits-server: is a modelServer; name a training job, or a workload of kind tensorboard\n"
    assert "digits-" in command.output(tmp_path, "tensorboard", "digits", code=1), "the dev stack's job writes none"


@pytest.fixture(scope="module")
def files(deployed: Deployed, tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """A stack with a TensorBoard, and with volumes that not everybody may mount."""
    folder = tmp_path_factory.mktemp("files")
    named = replace(deployed.stack, settings=replace(deployed.stack.settings, name="files"))
    made = linked_project.with_settings(named, folder, SETTINGS)
    made.prepare(Step("prepare"))
    made.up(Step("pulumi up"))
    return Settings.of_file(read(made.settings.source()))


def _copy(deployed: Deployed, files: Settings, source: object, target: object, account: str = "default") -> None:
    question = cp.Question(str(source), str(target), "files", account=account)
    cp.copy(deployed.kube, stack.load(files), question, Console(quiet=True))


def test_a_declared_tensorboard_shows_what_is_on_its_volume(
    deployed: Deployed, files: Settings, tmp_path: Path
) -> None:
    import tensorflow as tf

    from tensorplane.progress import Scalars

    scalars = Scalars(tmp_path / "run-1")
    for step in range(5):
        scalars.write(step, {"loss": 1 / (step + 1)})
    assert tf.io.gfile.listdir(str(tmp_path / "run-1"))
    _copy(deployed, files, tmp_path / "run-1", "logs:/tensorboard/")
    access = Access(deployed.kube, NAMESPACE, stack="files", declared=files.tree["workloads"])
    with board.opened(access, "curves", Console(quiet=True)) as (url, _):
        assert _losses(url, "run-1") == pytest.approx([1, 1 / 2, 1 / 3, 1 / 4, 1 / 5])
        # Many connections at once, each ended by the server: every byte arrives.
        page = urllib.request.urlopen(url, timeout=PATIENT_SECONDS).read()
        assert [urllib.request.urlopen(url, timeout=PATIENT_SECONDS).read() == page for _ in range(20)] == [True] * 20
    assert len(_pods(deployed, "tensorboard", NAMESPACE)) == 1, "a declared one stays"


@pytest.mark.parametrize(
    ("volume", "account", "reads", "writes"),
    [("closed", "default", False, False), ("closed", "curves", True, True), ("grouped", "default", True, False)],
)
def test_the_api_server_lets_readers_copy_from_a_volume_and_writers_to_it(
    deployed: Deployed, files: Settings, tmp_path: Path, volume: str, account: str, reads: bool, writes: bool
) -> None:
    (tmp_path / "a").write_text("a")
    for source, target, allowed in (("a", f"{volume}:/a", writes), (f"{volume}:/", "all/", reads)):
        if target == "all/":
            (tmp_path / "all").mkdir()
        source, target = (str(tmp_path / each) if ":" not in each else each for each in (source, target))
        if allowed:
            _copy(deployed, files, source, f"{target}/" if "all" in target else target, account)
        else:
            with pytest.raises(Fault, match=r"may not mount the volume|does not allow"):
                _copy(deployed, files, source, f"{target}/" if "all" in target else target, account)
