"""Settings of jobs whose effect only a cluster shows: large files, existing Secrets, /dev/shm, deadlines, onSuccess."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tensorplane.cli.commands.why import command as why
from tensorplane.core.kube import Kube
from tensorplane.core.kube_objects import Objects
from tensorplane.workloads.pods import sources
from tests.e2e import stacks
from tests.e2e.conftest import Deployed
from tests.e2e.small_jobs import Running
from tests.support.waiting import eventually

pytestmark = pytest.mark.nightly("5 jobs; told by runtime/test_on_success.py, test_run_deadline.py and unit tests")

_NAMESPACE = "tensorplane-settings"
_FOLDER = "package:sklearn/datasets"
"""More than one ConfigMap can have."""
_PROGRAM = """
import hashlib, os, pathlib
files = sorted(path for path in pathlib.Path("datasets").rglob("*") if path.is_file())
pathlib.Path("datasets/made.txt").write_text("programs may write beside their files")
assert os.environ["TOKEN"] == "hunter2"
shared = os.statvfs("/dev/shm")
assert shared.f_blocks * shared.f_frsize == 128 << 20
print(hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest())
raise SystemExit(3)  # the last line is kept
"""
_TRAINS = """
import os
import tensorflow as tf
import tensorplane
model = tf.Module()
model.half = tf.function(lambda x: {"y": x / 2 + 2}, input_signature=[tf.TensorSpec([None], tf.float32)])
signatures = {"serving_default": model.half}
tensorplane.publish(lambda folder: tf.saved_model.save(model, str(folder), signatures), metrics={"loss": 0.25})
"""
_ACCEPTS = """
import os, pathlib
version = pathlib.Path(os.environ["MODEL_VERSION_DIR"])
assert version == pathlib.Path("/work/candidates/half/1") and (version / "saved_model.pb").exists()
"""
_SLEEPS = ["python3", "-c", "import time; time.sleep(3600)"]
_SMALL = {"cpus": 0.1, "memoryGib": 0.1}
_JOB = {"kind": "trainingJob", "strategy": {"kind": "single"}}
_SETTINGS: dict[str, dict[str, Any]] = {
    "volumes": {"work": {"sizeGib": 1, "retain": False}},
    "workloads": {
        "trained": {
            **_JOB,
            "command": ["python3", "-c", _TRAINS],
            "volumes": {"work": "/work"},
            "model": {"volume": "work", "path": "candidates/half"},
            "onSuccess": {"command": ["python3", "-c", _ACCEPTS], "publish": "served"},
            "resources": {"cpus": 0.2, "memoryGib": 1},
        },
        "served": {
            "kind": "modelServer",
            "model": {"volume": "work", "path": "half"},
            "resources": {"cpus": 0.1, "memoryGib": 1},
        },
        "overdue": {
            **_JOB,
            "command": _SLEEPS,
            "volumes": {"work": "/work"},
            "checkpoints": {"volume": "work"},
            "totalDeadlineSeconds": 5,
            "graceSeconds": 1,
            "resources": _SMALL,
        },
        "large": {
            **_JOB,
            "command": ["python3", "-c", _PROGRAM],
            "files": {"datasets": _FOLDER},
            "env": {"TOKEN": {"secret": "hub", "key": "token"}},
            "egress": "internet",
            "maxRestarts": 0,
            "resources": {"cpus": 0.1, "memoryGib": 0.25, "sharedMemoryGib": 0.125},
        },
        "late": {**_JOB, "command": _SLEEPS, "deadlineSeconds": 5, "graceSeconds": 1, "resources": _SMALL},
    },
}


def test_a_job_gets_its_files_and_secrets_and_ends_at_its_deadline(deployed: Deployed, tmp_path: Path) -> None:
    kube = deployed.kube
    with stacks.own(deployed, tmp_path, "settings") as made:
        made.up(**_SETTINGS)
        jobs = Running(kube, made.stack)

        def told(job: str) -> Sequence[str]:
            return why.ask(kube, _NAMESPACE, jobs.runs[job], {}).lines

        # The pods wait for it.
        secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "hub", "namespace": _NAMESPACE}}
        api = Objects(Kube.of(deployed.instance.kubeconfig))
        api.create({**secret, "data": {"token": base64.b64encode(b"hunter2").decode()}}, manager="test")

        late, overdue = jobs.ended("late"), jobs.ended("overdue")
        assert not (late.succeeded or late.restarts), "a job at its deadline is not restarted"
        assert why.ask(kube, _NAMESPACE, jobs.runs["late"], {}).state == "failed"
        # While a pod that was ended is still there, its exit code is the reason.
        eventually(lambda: "deadlineSeconds, 5" in "\n".join(told("late")), about=lambda: told("late"))
        assert not (overdue.succeeded or overdue.restarts), "a run at its deadline is not restarted"
        assert "totalDeadlineSeconds, 5, have passed since the run's first start" in told("overdue")[0]

        assert jobs.ended("trained").succeeded
        assert told("trained")[0] == "It has published half/1: loss 0.25"
        server = f"/apis/apps/v1/namespaces/{_NAMESPACE}/deployments/served"
        eventually(lambda: ((kube.get(server) or {}).get("status") or {}).get("readyReplicas"))

        policy = f"/apis/networking.k8s.io/v1/namespaces/{_NAMESPACE}/networkpolicies/large-egress"
        blocks = [to["ipBlock"] for rule in (kube.get(policy) or {})["spec"]["egress"] for to in rule["to"]]
        assert {block["cidr"] for block in blocks} == {"0.0.0.0/0", "::/0"}

        assert not jobs.ended("large").succeeded
        assert any(_digest() in line for line in told("large")), told("large")


def _digest() -> str:
    """The hash that the program prints of the same files on this machine."""
    files = sources.expanded({"datasets": _FOLDER})
    in_order = sorted(files, key=lambda path: Path(path).parts)
    return hashlib.sha256(b"".join(files[path].read_bytes() for path in in_order)).hexdigest()
