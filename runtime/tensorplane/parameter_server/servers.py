"""The servers of a parameter-server job as the chief sees them: the strategy over them, their health, their end."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import tensorflow as tf

from tensorplane.parameter_server import server
from tensorplane.stop import EXIT_SAVED

_SHARD_BYTES = 16 << 10
"""Variables of twice this size or more are divided."""
_POLL_SECONDS = 1.0
_SILENT_SECONDS = 15.0
_GOODBYE_SECONDS = 15.0
_SAY_SECONDS = 20.0


def strategy(*, divide: bool = True) -> Any:
    """`ParameterServerStrategy` over the cluster in TF_CONFIG, connected.

    Variables are distributed over the servers by size. `divide`: whether large ones are divided among all servers;
    Keras 3 models then train with `tensorplane.parameter_server`, not with a `ClusterCoordinator` of your own.
    """
    resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver(rpc_layer="grpc")
    servers = resolver.cluster_spec().num_tasks("ps")
    _wait_for_all(resolver.cluster_spec())
    partitioner = None
    if divide and servers > 1 and _keras_knows_shards():
        partitioner = tf.distribute.experimental.partitioners.MinSizePartitioner(_SHARD_BYTES, max_shards=servers)
    made = tf.distribute.ParameterServerStrategy(resolver, variable_partitioner=partitioner)
    _balance(made.extended, servers)
    return made


def _wait_for_all(spec: Any) -> None:
    """Waits until every server accepts connections: gRPC would pause up to two minutes after a failed attempt."""
    began, said = time.monotonic(), False
    for kind in ("ps", "worker"):
        for index, address in enumerate(spec.job_tasks(kind)):
            while not server.accepts(address):
                if not said and time.monotonic() - began > _SAY_SECONDS:
                    print(f"tensorplane: waiting for {kind}:{index} at {address}", flush=True)
                    said = True
                time.sleep(0.2)


def _keras_knows_shards() -> bool:
    """Whether divided variables work with the installed Keras; tf_keras supports them by itself."""
    if os.environ.get("TF_USE_LEGACY_KERAS") in ("1", "true", "True"):
        return True
    try:
        from tensorplane.parameter_server import shards

        shards.install()
    except (ImportError, AttributeError) as error:
        print(f"tensorplane: variables stay whole, because this Keras has changed: {error}", flush=True)
        return False
    return True


def is_parameter_server(of: Any) -> bool:
    """Whether this is a ParameterServerStrategy."""
    return hasattr(of, "_is_parameter_server_strategy_v2")


def tasks(of: Any) -> Any:
    """The ClusterSpec of a ParameterServerStrategy. Its public `cluster_resolver` is None in TensorFlow 2.21."""
    return of._cluster_resolver.cluster_spec()


def _balance(extended: Any, servers: int) -> None:
    """Creates each variable on the server with the fewest bytes; TensorFlow takes turns, whatever their sizes."""
    create, loads = extended._create_variable_round_robin, [0] * servers

    def create_on_emptiest(next_creator: Any, **kwargs: Any) -> Any:
        at = loads.index(min(loads))
        extended._variable_count = at
        variable = create(next_creator, **kwargs)
        loads[at] += variable.dtype.size * (variable.shape.num_elements() or 1)
        return variable

    extended._create_variable_round_robin = create_on_emptiest


class ByStep:
    """Batches as a function of the step: each step has the same batch on whichever worker, and in a resumed run."""

    def __init__(self, batch: Callable[[tf.Tensor], Any]) -> None:
        """`batch` makes the arguments of the training step from its number, from 0. It runs on the workers."""
        self.batch = batch


class Watch:
    """Polls all servers while the chief trains: a silent one or a lost ps ends the chief, and the job restarts."""

    def __init__(self, of: Any) -> None:
        self._devices = _devices(of)
        self._asked: dict[str, float] = {}
        """When each server was asked that has not answered since."""
        self._end = threading.Event()
        self._mark = f"{server.CHIEF}{uuid.uuid4().hex}"
        for device in self._servers:
            _write(device, self._mark, "here")
        self.stopping = False
        """Whether a parameter server was asked to stop: what it holds must be saved now."""

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Polls in this block."""
        for device in self._devices:
            threading.Thread(target=self._poll, args=(device,), daemon=True).start()
        threading.Thread(target=self._judge, daemon=True).start()
        try:
            yield
        finally:
            self._end.set()

    @property
    def _servers(self) -> list[str]:
        return [device for device in self._devices if "/job:ps/" in device]

    def has_all_variables(self) -> bool:
        """Whether no parameter server has ended, or is another process than at the start."""
        try:
            for device in self._servers:
                self._must_have_mark(device)
        except tf.errors.OpError:
            return False
        return True

    def dismiss(self, code: int) -> None:
        """Lets all servers end with this exit code.

        They end by themselves if a ps is lost, or is another gang's: nothing tells this gang's workers from another's.
        If one does not answer for `_GOODBYE_SECONDS`, this process ends with 75, and the job restarts at its last step:
        TensorFlow would wait for that one until the network gives its connection up, which takes a quarter of an hour.
        """

        def tell(device: str) -> None:
            with contextlib.suppress(tf.errors.OpError), _own_executor():
                for each in [device] if device in self._servers else self._servers:
                    self._must_have_mark(each)
                _write(device, server.VERDICT, str(code))

        threads = {device: threading.Thread(target=tell, args=(device,), daemon=True) for device in self._devices}
        for thread in threads.values():
            thread.start()
        deadline = time.monotonic() + _GOODBYE_SECONDS
        for thread in threads.values():
            thread.join(max(0.0, deadline - time.monotonic()))
        # One that is silent may keep the requests to others waiting, too.
        if silent := [device for device, thread in threads.items() if thread.is_alive()]:
            _end_lost(silent, _GOODBYE_SECONDS)

    def _must_have_mark(self, device: str) -> None:
        """Raises an OpError unless a ps is the process that it was at the start."""
        _read(device, self._mark)

    def _poll(self, device: str) -> None:
        while not self._end.wait(_POLL_SECONDS):
            self._asked.setdefault(device, time.monotonic())
            if self._answers(device):
                self._asked.pop(device)

    def _answers(self, device: str) -> bool:
        """Asks one server. False for a ps that has ended or lost its variables: the step's error may never come."""
        is_ps = device in self._servers
        try:
            with _own_executor():
                if is_ps:
                    self._must_have_mark(device)
        except tf.errors.OpError:
            return False
        try:
            with _own_executor():
                state = _read(device, server.STATE)
        except tf.errors.OpError:
            # A worker that is gone is the coordinator's to handle; one without the note is a server of the user.
            return True
        self.stopping = self.stopping or (is_ps and server.STOPPING in state)
        return True

    def _judge(self) -> None:
        while not self._end.wait(_POLL_SECONDS):
            for device, since in list(self._asked.items()):
                if time.monotonic() - since > _SILENT_SECONDS:
                    _end_lost([device], _SILENT_SECONDS)


def _end_lost(devices: Iterable[str], seconds: float) -> None:
    """Ends this process at once: its job restarts."""
    names = (device.removeprefix("/job:").replace("/replica:0/task", "").split("/")[0] for device in devices)
    lost = ",".join(names)
    sys.stdout.flush()
    print(f"tensorplane: lost={lost} silent for {seconds:.0f} s; the job restarts", file=sys.stderr, flush=True)
    os._exit(EXIT_SAVED)


@contextmanager
def _own_executor() -> Iterator[None]:
    """Keeps errors of the operations in this block from other threads.

    All threads share the executor of the process: an operation that fails in one of them also fails those that others
    compute at that moment. Not public; `ClusterCoordinator` does the same for the threads of its workers.
    """
    from tensorflow.python.eager import context, executor

    own = executor.new_executor(enable_async=False)
    try:
        with context.executor_scope(own):
            yield
    finally:
        # Its deletion raises what is not cleared.
        own.clear_error()


def _read(device: str, path: str) -> str:
    """A note in a server's memory."""
    # Operations copy between processes: where a constant or `numpy` does, TensorFlow holds the interpreter meanwhile,
    # and a server on a node that is cut off never answers.
    name = tf.constant(path)
    with tf.device(device):
        note = tf.io.read_file(name)
    return str(tf.identity(note).numpy().decode())


def _write(device: str, path: str, note: str) -> None:
    """Adds a note, with constants of this process, too."""
    name, content = tf.constant(path), tf.constant(note)
    with tf.device(device):
        tf.io.write_file(name, content)


def _devices(of: Any) -> list[str]:
    """The CPU of every server and worker."""
    spec = tasks(of)
    return [
        f"/job:{kind}/replica:0/task:{index}/device:CPU:0"
        for kind in ("ps", "worker")
        for index in range(spec.num_tasks(kind))
    ]
