"""Sessions of older programs, which name no devices, wait for no other worker: it may have ended."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.runtime.launching import of_library
from tests.support.ports import free_ports
from tests.support.waiting import PATIENT_SECONDS

_PROGRAM = """
import json, os
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()
config = json.loads(os.environ["TF_CONFIG"])
task, cluster = config["task"], tf.train.ClusterSpec(config["cluster"])
server = tf.distribute.Server(cluster, job_name=task["type"], task_index=task["index"])
if task["type"] == "ps":
    server.join()
with tf.device(tf.train.replica_device_setter(worker_device="/job:worker/task:0", cluster=cluster)):
    add = tf.assign_add(tf.get_variable("total", initializer=0), 1)
with tf.train.MonitoredTrainingSession(master=server.target, is_chief=True) as session:
    print("total", session.run(add), flush=True)
"""


@pytest.mark.nightly("two imports of TensorFlow for programs of its version 1")
def test_a_worker_computes_without_the_others() -> None:
    cluster = {"ps": [f"127.0.0.1:{free_ports(1)[0]}"], "worker": [f"127.0.0.1:{port}" for port in free_ports(2)]}
    server, worker = processes = [_started(cluster, kind) for kind in ("ps", "worker")]
    try:
        assert worker.communicate(timeout=PATIENT_SECONDS)[0] == "total 1\n"
        assert worker.returncode == 0
        assert server.poll() is None
    finally:
        for process in processes:
            process.kill()
            process.wait()


def _started(cluster: dict[str, list[str]], kind: str) -> subprocess.Popen[str]:
    config = {"cluster": cluster, "task": {"type": kind, "index": 0}}
    environment = of_library(TF_CONFIG=json.dumps(config))
    return subprocess.Popen([sys.executable, "-c", _PROGRAM], env=environment, stdout=subprocess.PIPE, text=True)
