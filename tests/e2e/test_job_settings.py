"""Settings of jobs whose effect only a cluster shows: large files, existing Secrets, /dev/shm, a deadline."""

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
SETTINGS = f"""
config:
  tensorplane:namespace: {NAMESPACE}
  tensorplane:controllers: {{kueue: present, jobset: present}}
  tensorplane:workloads:
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
    runs = {name: each["jobSet"] for name, each in stack.outputs()["workloads"].items()}
    api = Api(config.new_client_from_config(str(deployed.instance.kubeconfig)))
    # The pods wait for it.
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "hub", "namespace": NAMESPACE}}
    api.create({**secret, "data": {"token": base64.b64encode(b"hunter2").decode()}}, manager="test")

    def ended(run: str) -> dict[str, Any] | None:
        path = f"/apis/jobset.x-k8s.io/v1alpha2/namespaces/{NAMESPACE}/jobsets/{run}"
        job_set = deployed.kube.get(path) or {}
        kinds = {one["type"] for one in job_set.get("status", {}).get("conditions", ()) if one["status"] == "True"}
        return job_set if "Failed" in kinds else None

    late = eventually(lambda: ended(runs["late"])) or {}
    assert not late["status"].get("restarts"), "a job at its deadline is not restarted"
    answer = query.ask(deployed.kube, NAMESPACE, runs["late"], {})
    assert answer.state == "failed"
    assert "deadlineSeconds, 5" in "\n".join(answer.lines)

    eventually(lambda: ended(runs["large"]))
    said = query.ask(deployed.kube, NAMESPACE, runs["large"], {}).lines
    assert any(digest() in line for line in said), said


def digest() -> str:
    """The hash that the program prints of the same files on this machine."""
    files = sources.expanded({"datasets": FOLDER})
    in_order = sorted(files, key=lambda path: Path(path).parts)
    return hashlib.sha256(b"".join(files[path].read_bytes() for path in in_order)).hexdigest()
