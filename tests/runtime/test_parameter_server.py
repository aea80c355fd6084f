"""Training on parameter servers with real processes: what is lost is replaced, and the result is a trained model."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tensorplane import launch
from tensorplane.checkpoints.files import CheckpointFiles
from tensorplane.checkpoints.run_folder import RUN
from tensorplane.parameter_server import server
from tensorplane.stop import EXIT_SAVED
from tests.runtime.counting_proxy import proxy
from tests.runtime.launching import LIBRARY, Program, gang, of_library
from tests.runtime.parameter_servers import ALL_ANSWER, Servers, chief_of, cluster, two_of_each, variables
from tests.support.waiting import PATIENT_SECONDS, eventually


@pytest.fixture
def servers(tmp_path: Path) -> Iterator[Servers]:
    with two_of_each(tmp_path) as found:
        yield found


_TRAINED = 0.8
"""By chance it would be 0.1. How much more depends on the order in which two workers' steps come."""


def _accuracy(output: str) -> float:
    found = re.search(r"accuracy=(\S+)", output)
    assert found, output
    return float(found[1])


def test_killed_worker_is_replaced_and_no_other_process_ends(servers: Servers, tmp_path: Path) -> None:
    worker = ("worker", 1)
    with chief_of(tmp_path, servers, steps=200, hold_after="step=150 ", then=ALL_ANSWER) as chief:
        chief.until(r"step=50 ")
        servers.kill(worker)
        assert servers.code(worker) == -signal.SIGKILL
        chief.until(r"step=150 ")  # it has gone on with the other, and waits
        servers.start(worker)
        eventually(lambda: server.accepts(servers.cluster["worker"][1]))
        chief.go()
        assert chief.finish() == [0], chief.output
    assert _accuracy(chief.output) >= _TRAINED
    assert "saved=200" in chief.output
    assert "version=1 " in chief.output
    # They end with the chief, which says how. The new worker may have no connection yet: JobSet ends its pod.
    assert [servers.code(task) for task in list(servers.processes) if task != worker] == [0, 0, 0]


@pytest.mark.nightly("kills; 15 s of silence; told by test_parameter_server_kills.py too")
def test_lost_server_and_lost_chief_resume_from_the_checkpoint(servers: Servers, tmp_path: Path) -> None:
    with chief_of(tmp_path, servers, steps=100_000) as chief:
        chief.until(r"saved=100")
        servers.kill(("ps", 1))
        assert chief.finish() == [EXIT_SAVED], chief.output
        # Of its step, or of the polls: the coordinator tries a step again whose error is a derived CancelledError.
        assert re.search(r"^tensorplane: lost=(server;|ps:1 silent)", chief.output, re.MULTILINE), chief.output
    servers.restart()
    with chief_of(tmp_path, servers, steps=100_000) as chief:
        assert int(re.findall(r"\d+", chief.until(r"resumed=True"))[1]) >= 100
        chief.until(r"saved=")
        chief.kill()
    # It may have saved once more.
    saved = CheckpointFiles(Program(tmp_path).checkpoints("run")).steps()[0]
    servers.restart()
    with chief_of(tmp_path, servers, steps=saved + 250) as chief:
        assert f"step={saved}" in chief.until(r"resumed=True")
        assert chief.finish() == [0], chief.output
    assert _accuracy(chief.output) >= _TRAINED


@pytest.mark.nightly("another end than that of the path in `make test`, a lost worker")
def test_sigterm_of_a_parameter_server_loses_no_step(servers: Servers, tmp_path: Path) -> None:
    with chief_of(tmp_path, servers, steps=100_000) as chief:
        chief.until(r"step=100 ")
        servers.kill(("ps", 0), signal.SIGTERM)
        assert chief.finish() == [EXIT_SAVED], chief.output
    stopped = re.search(r"stopped=(\d+)", chief.output)
    assert stopped, chief.output
    assert f"saved={stopped[1]}\n" in chief.output
    assert stopped[1] == re.findall(r"step=(\d+)", chief.output)[-1]
    assert servers.code(("ps", 0)) == EXIT_SAVED


_IDLE = """
import time
from tensorplane import Place, StopRequest
from tensorplane.parameter_server.training import coordinated

with coordinated(Place.current().strategy(), StopRequest()):
    print("idle", flush=True)
    time.sleep(SECONDS)
"""


@pytest.mark.nightly("15 s of silence")
def test_lost_server_is_noticed_without_a_step_that_fails(servers: Servers, tmp_path: Path) -> None:
    program = _IDLE.replace("SECONDS", str(PATIENT_SECONDS))
    with gang(tmp_path, program, tasks=[variables(servers.cluster)]) as chief:
        chief.until("idle")
        servers.kill(("ps", 1))
        assert chief.finish() == [EXIT_SAVED], chief.output
    assert "tensorplane: lost=ps:1 silent" in chief.output


_COMES_BACK = f"""{ALL_ANSWER}
from tensorplane import Place, StopRequest
from tensorplane.parameter_server.training import coordinated

with coordinated(Place.current().strategy(), StopRequest()):
    print("holds", flush=True)
    # What the coordinator does once a worker that was lost is there again.
    context.context().update_server_def(context.get_server_def())
"""


@pytest.mark.nightly("ten processes with TensorFlow")
def test_a_chief_whose_run_was_taken_over_ends_no_server_of_the_gang_after_it(servers: Servers, tmp_path: Path) -> None:
    """Servers of both gangs have the same addresses, so it connects to those of the other one."""
    tasks = [variables(servers.cluster)]
    with gang(tmp_path, _COMES_BACK, tasks=tasks, hold_after="holds") as former:
        former.until("holds")
        servers.restart()
        eventually(lambda: all(map(server.accepts, (*servers.cluster["ps"], *servers.cluster["worker"]))))
        former.go()
        assert former.finish() == [0], former.output
    with chief_of(tmp_path, servers, steps=50, then=ALL_ANSWER) as chief:
        assert chief.finish() == [0], chief.output
    assert [servers.code(task) for task in list(servers.processes)] == [0, 0, 0, 0]


_ENDS = f"""{ALL_ANSWER}
from tensorplane import Place, StopRequest
from tensorplane.parameter_server.training import coordinated

servers._GOODBYE_SECONDS = 15
with coordinated(Place.current().strategy(), StopRequest()):
    print("holds", flush=True)
"""


@pytest.mark.nightly("five processes with TensorFlow")
def test_a_worker_that_does_not_answer_keeps_no_chief_waiting_at_its_end(servers: Servers, tmp_path: Path) -> None:
    """As on a node that is cut off: its connections are open."""
    with gang(tmp_path, _ENDS, tasks=[variables(servers.cluster)], hold_after="holds") as chief:
        chief.until("holds")
        servers.kill(("worker", 1), signal.SIGSTOP)
        chief.go()
        assert chief.finish() == [EXIT_SAVED], chief.output
    assert re.search(r"^tensorplane: lost=\S*worker:1 silent for 15 s; the job restarts$", chief.output, re.MULTILINE)


_READS = """
import tensorflow as tf
from tensorplane import Place, StopRequest
from tensorplane.parameter_server import servers
from tensorplane.parameter_server.training import coordinated

servers._POLL_SECONDS = 0.0005
strategy = Place.current().strategy()
with strategy.scope():
    weight = tf.Variable(0.0)
with coordinated(strategy, StopRequest()):
    print("reads", flush=True)
    for _ in range(1500):
        weight.assign_add(1.0)
        weight.numpy()
"""


@pytest.mark.nightly("thousands of chances for a race")
def test_error_of_a_poll_does_not_reach_the_training(servers: Servers, tmp_path: Path) -> None:
    _goes_on_without_a_worker(_READS, "reads", servers, tmp_path)


_COPIES = """
import tensorflow as tf
from tensorflow.python.distribute.coordinator import values
from tensorplane import Checkpointer, Loop, Place, Schedule, StopRequest
from tensorplane.parameter_server import ByStep

copy = values.RemoteValueImpl._copy_to_local

def held(value):
    if value._values is not None and "/job:worker/replica:0/task:1/" in value._values.device:
        print("copies", flush=True)
    return copy(value)

values.RemoteValueImpl._copy_to_local = held
place = Place.current()
strategy = place.strategy()
with strategy.scope():
    weight = tf.Variable(0.0)
step = tf.Variable(0, dtype=tf.int64)

def train_step(number):
    return weight.assign_add(1.0).read_value()

Loop(strategy, place, train_step, step).run(ByStep(lambda number: (number,)), Schedule(200), Checkpointer(None, place),
    StopRequest())
print(int(step))
"""


@pytest.mark.nightly("kills; a race that the path in `make test` has seldom")
def test_worker_lost_between_its_step_and_the_copy_of_its_result(servers: Servers, tmp_path: Path) -> None:
    assert "\n200\n" in _goes_on_without_a_worker(_COPIES, "copies", servers, tmp_path)


def _goes_on_without_a_worker(program: str, line: str, servers: Servers, folder: Path) -> str:
    """Loses a worker while the chief is held after a line. The chief ends well; returns what it has printed."""
    with gang(folder, program, tasks=[variables(servers.cluster)], hold_after=line) as chief:
        chief.until(line)
        servers.kill(("worker", 1))
        assert servers.code(("worker", 1)) == -signal.SIGKILL
        chief.go()
        assert chief.finish() == [0], chief.output
    return chief.output


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
        of = Servers(public, folder)
        stack.callback(of.end)
        for kind, number in (("ps", count), ("worker", 2)):
            for index in range(number):
                # A server listens at its own address; the others know that of the proxy.
                of.start((kind, index), own if kind == "ps" else public)
        chief = stack.enter_context(gang(folder, _FIT, tasks=[variables(public)], then=ALL_ANSWER))
        assert chief.finish() == [0], chief.output
        iterations, *names, accuracy = chief.output.split("iterations ")[1].split()
        assert (iterations, set(names)) == ("128", {"accuracy", "loss", "val_accuracy", "val_loss"})
        assert float(accuracy) >= _TRAINED
        return [each.sent for each in proxies]


@pytest.mark.nightly("two trainings with nine processes")
def test_fit_with_two_servers_takes_at_most_six_tenths_of_the_bytes_from_each(tmp_path: Path) -> None:
    (alone,) = _bytes_of(tmp_path, 1)
    both = _bytes_of(tmp_path, 2)
    # Each step reads the model once.
    assert alone > 128 * 256 * 512 * 4
    assert max(both) <= 0.6 * alone, (alone, both)


_POISON = """
import tensorflow as tf
from tensorplane import Checkpointer, Loop, Place, Schedule, StopRequest
from tensorplane.parameter_server import ByStep

place = Place.current()
strategy = place.strategy()
with strategy.scope():
    weight = tf.Variable(0.0)
step = tf.Variable(0, dtype=tf.int64)
checkpoints = Checkpointer(every_steps=50, weight=weight, step=step)
checkpoints.restore()

read = lambda: tf.io.read_file("/no/such/example")

def train_step(number):
    FAILS
    weight.assign_add(1.0)
    return weight.read_value()

Loop(strategy, place, train_step, step).run(ByStep(lambda number: (number,)), Schedule(200), checkpoints, StopRequest())
"""


@pytest.mark.nightly("eight imports of TensorFlow; test_poison_step.py has the launcher's part")
@pytest.mark.parametrize(
    ("fails", "reason"),
    [
        ("tf.debugging.assert_less(number, tf.constant(120, tf.int64), 'bad example')", "bad example"),
        # The error that a server's restart causes too, which is no fault of the step.
        ("weight.assign_add(tf.strings.to_number(tf.cond(number < 120, lambda: '0', read)))", "NotFoundError"),
    ],
    ids=["assertion", "missing file"],
)
def test_poison_step_ends_the_job_the_third_time(servers: Servers, tmp_path: Path, fails: str, reason: str) -> None:
    (tmp_path / "train.py").write_text(_POISON.replace("FAILS", fails))
    argv = [sys.executable, "-I", str(LIBRARY / "tensorplane" / "launch.py"), sys.executable, "train.py"]
    own = of_library(**variables(servers.cluster), **{RUN: str(tmp_path / "run"), launch.WRITES: "true"})
    codes, stories = [], []
    for attempt in range(3):
        if attempt:
            servers.restart()
        done = subprocess.run(argv, cwd=tmp_path, env=own, capture_output=True, text=True, timeout=PATIENT_SECONDS)
        codes.append(done.returncode)
        record = next((tmp_path / "run").glob("failure-*.json"), None)
        stories.append(f"{done.stderr}\n{record and record.read_text()}")
    assert codes == [1, 1, launch.EXIT_NOT_RETRIED], "\n".join(stories)
    last = done.stderr.splitlines()[-1]
    assert last.startswith("tensorplane: after step 100 it failed 3 times in a row with the same last line;"), last
    assert reason in done.stderr
