"""Settings of jobs whose effect only a cluster shows: large files, existing Secrets, /dev/shm, deadlines, onSuccess."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from kubernetes import config

from cli.commands.why import query
from driver import linked_project
from driver.deploy import Stack
from embedded.provider.api import Api
from embedded.step import Step
from tests.e2e.conftest import Deployed
from tests.support.waiting import eventually
from workloads import sources

NAMESPACE = "tensorplane-settings"
FOLDER = "package:sklearn/datasets"
"""More than one ConfigMap can have."""
PROGRAM = """
import hashlib, os, pathlib
files = sorted(path for path in pathlib.Path("datasets").rglob("*") if path.is_file())
pathlib.Path("datasets/made.txt").write_text("programs may write beside their files")
assert os.environ["TOKEN"] == "hunter2"
shared = os.statvfs("/dev/shm")
assert shared.f_blocks * shared.f_frsize == 128 << 20
print(hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest())
raise SystemExit(3)  # the last line is kept
"""
TRAINS = """
import os
import tensorflow as tf
import tensorplane
model = tf.Module()
model.half = tf.function(lambda x: {"y": x / 2 + 2}, input_signature=[tf.TensorSpec([None], tf.float32)])
signatures = {"serving_default": model.half}
tensorplane.publish(lambda folder: tf.saved_model.save(model, str(folder), signatures), metrics={"loss": 0.25})
"""
ACCEPTS = """
import os, pathlib
version = pathlib.Path(os.environ["MODEL_VERSION_DIR"])
assert version == pathlib.Path("/work/candidates/half/1") and (version / "saved_model.pb").exists()
"""
SETTINGS = f"""
config:
  tensorplane:namespace: {NAMESPACE}
  tensorplane:controllers: {{kueue: present, jobset: present}}
  tensorplane:volumes:
    work: {{sizeGib: 1, retain: false}}
  tensorplane:workloads:
    trained:
      kind: trainingJob
      strategy: {{kind: single}}
      command: [python3, -c, {json.dumps(TRAINS)}]
      volumes: {{work: /work}}
      model: {{volume: work, path: candidates/half}}
      onSuccess: {{command: [python3, -c, {json.dumps(ACCEPTS)}], publish: served}}
      resources: {{cpus: 0.2, memoryGib: 1}}
    served:
      kind: modelServer
      model: {{volume: work, path: half}}
      resources: {{cpus: 0.1, memoryGib: 1}}
    overdue:
      kind: trainingJob
      strategy: {{kind: single}}
      command: [python3, -c, "import time; time.sleep(3600)"]
      volumes: {{work: /work}}
      checkpoints: {{volume: work}}
      totalDeadlineSeconds: 5
      graceSeconds: 1
      resources: {{cpus: 0.1, memoryGib: 0.1}}
    large:
      kind: trainingJob
      strategy: {{kind: single}}
      command: [python3, -c, {json.dumps(PROGRAM)}]
      files: {{datasets: "{FOLDER}"}}
      env: {{TOKEN: {{secret: hub, key: token}}}}
      egress: internet
      maxRestarts: 0
      resources: {{cpus: 0.1, memoryGib: 0.25, sharedMemoryGib: 0.125}}
    late:
      kind: trainingJob
      strategy: {{kind: single}}
      command: [python3, -c, "import time; time.sleep(3600)"]
      deadlineSeconds: 5
      graceSeconds: 1
      resources: {{cpus: 0.1, memoryGib: 0.1}}
"""


@pytest.fixture
def stack(deployed: Deployed, tmp_path: Path) -> Iterator[Stack]:
    named = replace(deployed.stack, settings=replace(deployed.stack.settings, name="settings"))
    made = linked_project.with_settings(named, tmp_path, SETTINGS)
    made.prepare(Step("prepare"))
    made.up(Step("pulumi up"))
    yield made
    made.destroy(Step("destroy"))


def test_a_job_gets_its_files_and_secrets_and_ends_at_its_deadline(deployed: Deployed, stack: Stack) -> None:
    runs = {name: each.get("jobSet", "") for name, each in stack.outputs()["workloads"].items()}
    api = Api(config.new_client_from_config(str(deployed.instance.kubeconfig)))
    # The pods wait for it.
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "hub", "namespace": NAMESPACE}}
    api.create({**secret, "data": {"token": base64.b64encode(b"hunter2").decode()}}, manager="test")

    def ended(run: str, kind: str = "Failed") -> dict[str, Any] | None:
        path = f"/apis/jobset.x-k8s.io/v1alpha2/namespaces/{NAMESPACE}/jobsets/{run}"
        job_set = deployed.kube.get(path) or {}
        kinds = {one["type"] for one in job_set.get("status", {}).get("conditions", ()) if one["status"] == "True"}
        return job_set if kind in kinds else None

    late = eventually(lambda: ended(runs["late"])) or {}
    assert not late["status"].get("restarts"), "a job at its deadline is not restarted"

    def told() -> str:
        answer = query.ask(deployed.kube, NAMESPACE, runs["late"], {})
        assert answer.state == "failed"
        return "\n".join(answer.lines)

    # While a pod that was ended is still there, its exit code is the reason.
    eventually(lambda: "deadlineSeconds, 5" in told(), about=told)

    overdue = eventually(lambda: ended(runs["overdue"])) or {}
    assert not overdue["status"].get("restarts"), "a run at its deadline is not restarted"
    said = query.ask(deployed.kube, NAMESPACE, runs["overdue"], {}).lines
    assert "totalDeadlineSeconds, 5, have passed since the run's first start" in said[0]

    eventually(lambda: ended(runs["trained"], "Completed"))
    said = query.ask(deployed.kube, NAMESPACE, runs["trained"], {}).lines
    assert said[0] == "It has published half/1: loss 0.25"
    server = f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/served"
    eventually(lambda: ((deployed.kube.get(server) or {}).get("status") or {}).get("readyReplicas"))

    opened = deployed.kube.get(f"/apis/networking.k8s.io/v1/namespaces/{NAMESPACE}/networkpolicies/large-egress") or {}
    blocks = [to["ipBlock"] for rule in opened["spec"]["egress"] for to in rule["to"]]
    assert {block["cidr"] for block in blocks} == {"0.0.0.0/0", "::/0"}

    eventually(lambda: ended(runs["large"]))
    said = query.ask(deployed.kube, NAMESPACE, runs["large"], {}).lines
    assert any(digest() in line for line in said), said


def digest() -> str:
    """The hash that the program prints of the same files on this machine."""
    files = sources.expanded({"datasets": FOLDER})
    in_order = sorted(files, key=lambda path: Path(path).parts)
    return hashlib.sha256(b"".join(files[path].read_bytes() for path in in_order)).hexdigest()
