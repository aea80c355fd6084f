"""The program of the ps and worker pods of a parameter-server job: TensorFlow's server, without code of the user.

    python -m tensorplane.parameter_server.server        # its task and cluster from TF_CONFIG

The chief and a server exchange two notes through the server's memory (`ram://`), which needs no further port: the chief
reads `STATE`, so it notices a silent server and one that was asked to stop, and writes `VERDICT` when it ends.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

# In pods it is started by its path, isolated from the user's modules. Files of a ConfigMap are symbolic links to
# another folder, hence no `resolve`.
sys.path.insert(0, str(Path(__file__).absolute().parents[2]))

from tensorplane.errors import UsageError
from tensorplane.stop import EXIT_SAVED

STATE = "ram://tensorplane/state"
"""What the server does: `serving`, and `stopping` once it has received SIGTERM."""
VERDICT = "ram://tensorplane/verdict"
"""The exit code with which the chief lets the server end."""
TASK = "ram://tensorplane/task"
"""The server's index among the servers of its kind, for functions that run in it."""
CHIEF = "ram://tensorplane/chief-"
"""The chief's mark, with its own ending: a ps without it has started after the chief, and so has lost its variables, or
is of the gang that has taken the run over. That gang's servers have the same addresses."""
SERVING, STOPPING = "serving", "stopping"
EXIT_BROKEN = 70
"""Exit code of a server that no longer serves: EX_SOFTWARE of sysexits.h."""
_POLL_SECONDS = 0.5
_CHECK_SECONDS = 10.0
_GOODBYE_SECONDS = 2.0
"""How long a server still answers after the verdict: the chief releases what it has there when it ends."""
_LOST_SECONDS = 30.0
"""After this time without the chief, a server ends: it serves nobody."""


@dataclass(frozen=True)
class Task:
    """This server's task, and the address of its chief if the cluster has one."""

    kind: str
    index: int
    cluster: Mapping[str, list[str]]

    @classmethod
    def current(cls, environment: Mapping[str, str] = os.environ) -> Task:
        """The task in TF_CONFIG. Raises UsageError if it is not a ps or a worker."""
        config = json.loads(environment.get("TF_CONFIG") or "{}")
        cluster, task = config.get("cluster", {}), config.get("task", {})
        kind, index = task.get("type", ""), task.get("index", -1)
        if kind not in ("ps", "worker") or not 0 <= index < len(cluster.get(kind, [])):
            raise UsageError(f"TF_CONFIG: task {task} is not a ps or worker of the cluster; only these are servers")
        return cls(kind, index, cluster)

    @property
    def own(self) -> str:
        return self.cluster[self.kind][self.index]

    @property
    def chief(self) -> str | None:
        return next(iter(self.cluster.get("chief", [])), None)


def main() -> int:
    """Serves until the chief ends. A worker that receives SIGTERM ends at once; a ps first lets the chief save.

    Returns the chief's verdict, 0 after a finished run. After SIGTERM it is EXIT_SAVED: if an evicted pod ended with 0,
    its Job would count it as succeeded and not replace it.
    """
    asked = threading.Event()
    # Before TensorFlow, whose threads inherit the mask; a thread waits for the signal.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    threading.Thread(target=_wait_for_sigterm, args=(asked,), daemon=True).start()
    task = Task.current()
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")
    import tensorflow as tf

    server = tf.distribute.Server(
        dict(task.cluster), job_name=task.kind, task_index=task.index, protocol="grpc", start=True
    )
    _write(TASK, str(task.index))
    _write(STATE, SERVING)
    print(f"tensorplane: serving={task.kind}:{task.index} address={task.own}", flush=True)
    lost, broken = _Absence(task.chief, _LOST_SECONDS), _Absence(server.target.removeprefix("grpc://"), _LOST_SECONDS)
    for watched in (lost, broken):
        threading.Thread(target=watched.watch, daemon=True).start()
    stopping = False
    while True:
        if (verdict := _read(VERDICT)) is not None:
            time.sleep(_GOODBYE_SECONDS)
            return EXIT_SAVED if asked.is_set() else int(verdict)
        if asked.is_set():
            if task.kind == "worker" or lost.present is False:
                return EXIT_SAVED
            if not stopping:
                # Files of `ram://` can only grow.
                _write(STATE, STOPPING)
                stopping = True
        if broken.long:
            return _ended("this server no longer accepts connections", EXIT_BROKEN)
        if lost.long:
            return _ended(f"the chief at {task.chief} has been unreachable for {_LOST_SECONDS:.0f} s", EXIT_SAVED)
        time.sleep(_POLL_SECONDS)


def _wait_for_sigterm(asked: threading.Event) -> None:
    signal.sigwait({signal.SIGTERM})
    asked.set()


class _Absence:
    """How long an address has refused connections since it first accepted one."""

    def __init__(self, address: str | None, long_seconds: float) -> None:
        self._address, self._long_seconds = address, long_seconds
        self._seen: float | None = None
        self.present: bool | None = None
        """Whether it accepted the last connection; None before the first one that it accepted."""

    @property
    def long(self) -> bool:
        return self.present is False and time.monotonic() - (self._seen or 0) > self._long_seconds

    def watch(self) -> None:
        """Connects every second. Runs in a thread of its own."""
        if self._address is None:
            return
        while True:
            if accepts(self._address):
                self._seen, self.present = time.monotonic(), True
            elif self.present:
                self.present = False
            time.sleep(1)


def accepts(address: str) -> bool:
    """Whether something accepts connections at HOST:PORT."""
    host, _, port = address.rpartition(":")
    try:
        with socket.create_connection((host, int(port)), timeout=_CHECK_SECONDS):
            return True
    except OSError:
        return False


def _ended(why: str, code: int) -> int:
    print(f"tensorplane: {why}", file=sys.stderr, flush=True)
    return code


def _write(path: str, text: str) -> None:
    import tensorflow as tf

    with tf.io.gfile.GFile(path, "w") as file:
        file.write(text)


def _read(path: str) -> str | None:
    import tensorflow as tf

    if not tf.io.gfile.exists(path):
        return None
    with tf.io.gfile.GFile(path) as file:
        return str(file.read()) or None


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    # TensorFlow's server cannot be stopped: its threads would keep the process.
    os._exit(code)
