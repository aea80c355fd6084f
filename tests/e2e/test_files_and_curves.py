"""`tensorplane cp` and `tensorboard`: files go to a volume and back, and the curves of real runs are seen."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from tensorplane import stack
from tensorplane.cli.access import Access
from tensorplane.cli.commands.cp import command as cp
from tensorplane.cli.commands.tensorboard import command as board
from tensorplane.components.base.settings import Settings
from tensorplane.core.errors import UserError
from tensorplane.embedded.cluster import pool
from tensorplane.embedded.cluster.node_paths import NodePaths
from tensorplane.stack_file import read
from tests.e2e import stacks
from tests.e2e.conftest import Deployed
from tests.e2e.stacks import OwnStack
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
pytestmark = pytest.mark.nightly(
    "an up, a training and 10 copies; told by unit/cli/commands/cp and test_tensorboard.py"
)

_VOLUME = {"sizeGib": 1, "retain": False}
_SETTINGS: dict[str, dict[str, Any]] = {
    "volumes": {
        "logs": _VOLUME,
        "closed": {**_VOLUME, "writers": ["curves"]},
        "grouped": {**_VOLUME, "readers": ["group:system:masters"]},
    },
    "workloads": {
        "curves": {"kind": "tensorboard", "logs": {"volume": "logs"}, "resources": {"cpus": 0.1, "memoryGib": 1}}
    },
}


def _pods(deployed: Deployed, part: str, namespace: str = "tensorplane-dev") -> list[str]:
    selector = f"app.kubernetes.io/component={part}"
    found = deployed.kube.items(f"/api/v1/namespaces/{namespace}/pods", labelSelector=selector)
    return [pod["metadata"]["name"] for pod in found]


def _tree(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def _interrupt(monkeypatch: pytest.MonkeyPatch, when: Callable[[], bool], after: int) -> None:
    """Ctrl-C is pressed once, when a command has sent so many bytes, and the volume has what they were to bring."""
    write, sent, pressed = cp._CountedProgram.write, 0, False

    def counted(stream: cp._CountedProgram, data: bytes) -> int:
        nonlocal sent, pressed
        sent += len(data)
        if sent > after and not pressed:
            pressed = eventually(when)
            raise KeyboardInterrupt
        return write(stream, data)

    monkeypatch.setattr(cp._CountedProgram, "write", counted)


def test_a_folder_goes_to_a_volume_and_back_and_an_interrupted_copy_goes_on(
    deployed: Deployed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "photos"
    for index in range(200):
        path = source / f"class-{index % 7}" / f"{index}.bin"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(os.urandom(index * 100))
    # The last one, half of which is not sent before the signal.
    (source / "large").write_bytes(os.urandom(1 << 20) * 32)
    copied = stacks.volume_folder(deployed, deployed.outputs.namespace, "models") / "sets/photos"
    _interrupt(monkeypatch, lambda: len([*copied.rglob("[0-9]*.bin")]) == 200, after=16 << 20)
    with pytest.raises(SystemExit) as ended:
        cp.run(cp.CopyOptions(str(source), "models:/sets/photos", "dev"), Console(quiet=True))
    assert ended.value.code == 130
    assert _pods(deployed, "copy") == []
    told = command.output(tmp_path, "cp", "photos", "models:/sets/photos")
    assert re.fullmatch(r"models:/sets/photos: 1 file, 32 MiB in .*/s\); 200 files unchanged\n", told), told
    again = command.output(tmp_path, "cp", "photos", "models:/sets/")
    assert again == "models:/sets/photos: 0 files, 0 B; 201 files unchanged\n"
    assert command.output(tmp_path, "cp", "models:/sets/photos", "back").startswith("back: 201 files, ")
    assert _tree(tmp_path / "back") == _tree(source)
    assert "models:/sets/nothing: does not exist" in command.output(tmp_path, "cp", "models:/sets/nothing", ".", code=1)
    assert _pods(deployed, "copy") == []


def test_a_volume_is_mounted_on_the_machine_until_the_cluster_stops(deployed: Deployed, tmp_path: Path) -> None:
    (tmp_path / "note").write_text("from a pod")
    mounted, again, at = tmp_path / "mounted", tmp_path / "again", NodePaths(deployed.instance)
    try:
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
        with (
            (mounted / "of-machine").open(),
            pytest.raises(UserError, match=f"{mounted}: a volume is mounted there .*busy"),
        ):
            pool.unmount_volumes(at)
    finally:
        # pytest removes what is below its folders.
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
        # A busy Python may lose the exception of a signal, in a callback; a person presses Ctrl-C again.
        while shown.poll() is None:
            shown.send_signal(signal.SIGINT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                shown.wait(PATIENT_SECONDS)
        assert shown.returncode == 0


def _json(url: str) -> Any:
    with urllib.request.urlopen(url, timeout=PATIENT_SECONDS) as answer:
        return json.load(answer)


def _losses(url: str, run: str, count: int) -> list[float]:
    """The values of the scalar `loss`, as TensorBoard's page asks for them, once it has read so many."""
    tags, of_run = f"{url}data/plugin/scalars/tags", f"{url}data/plugin/scalars/scalars?run={run}&tag=loss"

    def points() -> list[float]:
        found = _json(of_run) if "loss" in _json(tags).get(run, {}) else []
        return [value for _, _, value in found]

    return eventually(lambda: found if len(found := points()) >= count else [], about=points)


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
        losses = _losses(url, run, count=2)
        assert losses[-1] < losses[0]
        assert [name.startswith(f"{run}-tensorboard-") for name in _pods(deployed, "tensorboard")] == [True]
    assert _pods(deployed, "tensorboard") == [], "its pod is deleted"
    refused = command.output(tmp_path, "tensorboard", "digits-server", code=1)
    assert refused == "digits-server: is a modelServer; name a training job, or a workload of kind tensorboard\n"
    assert "digits-" in command.output(tmp_path, "tensorboard", "digits", code=1), "the dev stack's job writes none"


@pytest.fixture(scope="module")
def files(deployed: Deployed, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OwnStack]:
    """A stack with a TensorBoard, and with volumes that not everybody may mount."""
    with stacks.own(deployed, tmp_path_factory.mktemp("files"), "files") as made:
        made.up(**_SETTINGS)
        yield made


def _copy(files: OwnStack, source: object, target: object, account: str = "default") -> None:
    question = cp.CopyOptions(str(source), str(target), files.name, account=account)
    written = Settings.of_file(read(files.stack.settings.source()))
    resolved = stack.load(replace(written, tree={**written.tree, "namespace": files.namespace}))
    cp.copy(files.kube, resolved, question, Console(quiet=True))


def test_a_declared_tensorboard_shows_what_is_on_its_volume(
    deployed: Deployed, files: OwnStack, tmp_path: Path
) -> None:
    import tensorflow as tf

    from tensorplane.progress import Scalars

    scalars = Scalars(tmp_path / "run-1")
    for step in range(5):
        scalars.write(step, {"loss": 1 / (step + 1)})
    assert tf.io.gfile.listdir(str(tmp_path / "run-1"))
    _copy(files, tmp_path / "run-1", "logs:/tensorboard/")
    access = Access(files.kube, files.namespace, stack=files.name, declared=_SETTINGS["workloads"])
    with board.opened(access, "curves", Console(quiet=True)) as (url, _):
        assert _losses(url, "run-1", count=5) == pytest.approx([1, 1 / 2, 1 / 3, 1 / 4, 1 / 5])
        # Many connections at once, each ended by the server: every byte arrives.
        page = urllib.request.urlopen(url, timeout=PATIENT_SECONDS).read()
        assert [urllib.request.urlopen(url, timeout=PATIENT_SECONDS).read() == page for _ in range(20)] == [True] * 20
    assert len(_pods(deployed, "tensorboard", files.namespace)) == 1, "a declared one stays"


@pytest.mark.parametrize(
    ("volume", "account", "reads", "writes"),
    [("closed", "default", False, False), ("closed", "curves", True, True), ("grouped", "default", True, False)],
)
def test_the_api_server_lets_readers_copy_from_a_volume_and_writers_to_it(
    files: OwnStack, tmp_path: Path, volume: str, account: str, reads: bool, writes: bool
) -> None:
    (tmp_path / "a").write_text("a")
    (tmp_path / "all").mkdir()
    copies = ((tmp_path / "a", f"{volume}:/a", writes), (f"{volume}:/", f"{tmp_path}/all/", reads))
    for source, target, allowed in copies:
        refused = pytest.raises(UserError, match=r"may not mount the volume|does not allow")
        with contextlib.nullcontext() if allowed else refused:
            _copy(files, source, target, account)
