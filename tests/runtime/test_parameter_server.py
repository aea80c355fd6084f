"""Training on parameter servers with real processes: what is lost is replaced, and the result is a trained model."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tensorplane.stop import EXIT_SAVED
from tests.runtime.counting_proxy import proxy
from tests.runtime.launching import Program, Workers
from tests.runtime.parameter_servers import Servers, cluster, environment, servers_of
from tests.support.waiting import PATIENT_SECONDS, eventually


@pytest.fixture
def servers() -> Iterator[Servers]:
    """Two workers and two parameter servers."""
    with servers_of(cluster()) as found:
        found.start_all()
        yield found


@contextmanager
def _chief(folder: Path, of: Servers, *, steps: int) -> Iterator[Workers]:
    """The digits program, unchanged, as the chief."""
    program = Program(folder)
    process = subprocess.Popen(
        [sys.executable, "train.py"],
        cwd=folder,
        env={
            **environment(of.cluster),
            "MODEL_DIR": str(folder / "models"),
            "CHECKPOINT_DIR": str(program.checkpoints("run")),
            "STEPS": str(steps),
            "CHECKPOINT_STEPS": "50",
        },
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    try:
        yield Workers([process], folder / "go")
    finally:
        process.kill()
        process.communicate()


def _accuracy(output: str) -> float:
    found = re.search(r"accuracy=(\S+)", output)
    assert found, output
    return float(found[1])


def test_killed_worker_is_replaced_and_no_other_process_ends(servers: Servers, tmp_path: Path) -> None:
    with _chief(tmp_path, servers, steps=400) as chief:
        chief.until(r"step=100 ")
        servers.kill(("worker", 1))
        assert servers.code(("worker", 1)) == -signal.SIGKILL
        chief.until(r"step=200 ")
        servers.start(("worker", 1))
        assert chief.finish() == [0], chief.output
    assert _accuracy(chief.output) >= 0.95
    assert "saved=400" in chief.output
    assert "version=1 " in chief.output
    # They end with the chief, which says how.
    assert [servers.code(task) for task in list(servers.ids)] == [0, 0, 0, 0]


def test_lost_server_and_lost_chief_resume_from_the_checkpoint(servers: Servers, tmp_path: Path) -> None:
    with _chief(tmp_path, servers, steps=100_000) as chief:
        chief.until(r"saved=100")
        servers.kill(("ps", 1))
        assert chief.finish() == [EXIT_SAVED], chief.output
        assert "lost=server" in chief.output
    _restart(servers)
    with _chief(tmp_path, servers, steps=100_000) as chief:
        assert int(re.findall(r"\d+", chief.until(r"resumed=True"))[1]) >= 100
        saved = int(re.findall(r"\d+", chief.until(r"saved="))[0])
        chief.processes[0].kill()
    _restart(servers)
    with _chief(tmp_path, servers, steps=saved + 50) as chief:
        assert f"step={saved}" in chief.until(r"resumed=True")
        assert chief.finish() == [0], chief.output
    assert _accuracy(chief.output) >= 0.95


def test_sigterm_of_a_parameter_server_loses_no_step(servers: Servers, tmp_path: Path) -> None:
    with _chief(tmp_path, servers, steps=100_000) as chief:
        chief.until(r"step=100 ")
        servers.kill(("ps", 0), signal.SIGTERM)
        assert chief.finish() == [EXIT_SAVED], chief.output
    stopped = re.search(r"stopped=(\d+)", chief.output)
    assert stopped, chief.output
    assert f"saved={stopped[1]}\n" in chief.output
    assert stopped[1] == re.findall(r"step=(\d+)", chief.output)[-1]
    assert servers.code(("ps", 0)) == EXIT_SAVED


_FIT = """
import keras
import tensorflow as tf
import tensorplane

features = tf.random.stateless_normal([1024, 256], seed=(1, 2))
labels = tf.argmax(features[:, :4], axis=1)
with tensorplane.strategy().scope():
    keras.utils.set_random_seed(1)
    model = keras.Sequential([keras.Input((256,)), keras.layers.Dense(512, "relu"), keras.layers.Dense(4)])
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.AdamW(2e-3), loss, metrics=["accuracy"])
data = tf.data.Dataset.from_tensor_slices((features, labels)).shuffle(1024, seed=1).batch(32)
history = tensorplane.fit(model, data, epochs=4, validation_data=data.take(8))
print("iterations", int(model.optimizer.iterations.numpy()), *history.history, history.history["val_accuracy"][-1])
"""
"""One variable is nearly all of the model: it must be divided."""


def _bytes_of(folder: Path, count: int) -> list[int]:
    """Train with so many parameter servers; the bytes that each has sent."""
    public = cluster(ps=count)
    own = public | {"ps": cluster(workers=0, ps=count)["ps"]}
    with ExitStack() as stack:
        proxies = [stack.enter_context(proxy(*each)) for each in zip(public["ps"], own["ps"], strict=True)]
        of = stack.enter_context(servers_of(public))
        for kind, number in (("ps", count), ("worker", 2)):
            for index in range(number):
                # A server listens at its own address; the others know that of the proxy.
                of.start((kind, index), own if kind == "ps" else public)
        done = subprocess.run(
            [sys.executable, "-c", _FIT],
            cwd=folder,
            env=environment(public),
            text=True,
            capture_output=True,
            timeout=PATIENT_SECONDS,
        )
        assert done.returncode == 0, done.stderr
        iterations, *names, accuracy = done.stdout.split("iterations ")[1].split()
        assert (iterations, set(names)) == ("128", {"accuracy", "loss", "val_accuracy", "val_loss"})
        assert float(accuracy) >= 0.95
        return [each.sent for each in proxies]


def test_fit_with_two_servers_takes_at_most_six_tenths_of_the_bytes_from_each(tmp_path: Path) -> None:
    (alone,) = _bytes_of(tmp_path, 1)
    both = _bytes_of(tmp_path, 2)
    # Each step reads the model once.
    assert alone > 128 * 256 * 512 * 4
    assert max(both) <= 0.6 * alone, (alone, both)


def _restart(servers: Servers) -> None:
    """What JobSet does to the gang: all end, then all start."""
    for task in list(servers.ids):
        servers.kill(task)
        servers.code(task)
    eventually(lambda: not servers.ids)
    servers.start_all()
