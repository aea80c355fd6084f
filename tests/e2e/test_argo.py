"""Argo Workflows: its controller and executor run a Workflow, and Kueue admits those of its pods that name a queue."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator
from typing import Any

import pytest

from tensorplane.components import versions
from tensorplane.components.base.labels import QUEUE_LABEL
from tensorplane.components.controllers.argo_workflows import EXECUTOR_RULES
from tensorplane.core.kube import Kube
from tests.e2e.conftest import Deployed
from tests.support import admitted
from tests.support.waiting import PATIENT_SECONDS, eventually

_NAME = f"squares-{secrets.token_hex(3)}"
_QUEUE = "training"
_ACCESS = "rbac.authorization.k8s.io"
_LIST = "print('[1, 2, 3]', file=open('/tmp/numbers', 'w'))"
_SQUARE = """
import os
number = int(os.environ["NUMBER"])
for path in ("/out/square", "/tmp/square"):
    print(number ** 2, end="", file=open(path, "w"))
"""
_FOUND = """
import json, pathlib
found = {path.parent.name: path.read_text() for path in pathlib.Path("/work/squares").glob("*/square")}
print(json.dumps(found), file=open("/tmp/found", "w"))
"""
_CONFIG_MAP = f"""
apiVersion: v1
kind: ConfigMap
metadata: {{name: {_NAME}}}
data:
  said: '{{{{inputs.parameters.said}}}}'
  found: '{{{{inputs.parameters.found}}}}'
"""


def _program(name: str, text: str, output: str, **more: Any) -> dict[str, Any]:
    """A template that runs a Python program, with what it writes to /tmp as its output."""
    container = {
        "image": versions.EMBEDDED_IMAGES.python,
        "command": ["python3", "-c", text],
        "resources": {"requests": {"cpu": "50m", "memory": "64Mi"}, "limits": {"memory": "128Mi"}},
        **more.pop("container", {}),
    }
    outputs = {"parameters": [{"name": output, "valueFrom": {"path": f"/tmp/{output}"}}]}
    return {"name": name, "container": container, "outputs": outputs, **more}


def _step(name: str, inputs: dict[str, str] | None = None, **more: Any) -> dict[str, Any]:
    parameters = [{"name": key, "value": value} for key, value in (inputs or {}).items()]
    return {"name": name, "template": name, "arguments": {"parameters": parameters}, **more}


def _takes(*names: str) -> dict[str, Any]:
    return {"parameters": [{"name": name} for name in names]}


def _workflow(claim: str) -> dict[str, Any]:
    """It lists numbers, squares each in a pod of the queue with a folder of its own, and creates a ConfigMap."""
    steps = [
        [_step("list")],
        [_step("square", {"number": "{{item}}"}, withParam="{{steps.list.outputs.parameters.numbers}}")],
        [_step("find")],
        [
            _step(
                "keep",
                {
                    "said": "{{steps.square.outputs.parameters.square}}",
                    "found": "{{steps.find.outputs.parameters.found}}",
                },
            )
        ],
    ]
    squares = {
        "env": [{"name": "NUMBER", "value": "{{inputs.parameters.number}}"}],
        "volumeMounts": [{"name": "work", "mountPath": "/out", "subPath": "squares/{{inputs.parameters.number}}"}],
    }
    whole = {"volumeMounts": [{"name": "work", "mountPath": "/work"}]}
    resource = {"action": "create", "setOwnerReference": True, "manifest": _CONFIG_MAP}
    return {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Workflow",
        "spec": {
            "entrypoint": "all",
            "serviceAccountName": _NAME,
            "volumes": [{"name": "work", "persistentVolumeClaim": {"claimName": claim}}],
            "templates": [
                {"name": "all", "steps": steps},
                _program("list", _LIST, "numbers"),
                _program(
                    "square",
                    _SQUARE,
                    "square",
                    container=squares,
                    inputs=_takes("number"),
                    metadata={"labels": {QUEUE_LABEL: _QUEUE}},
                ),
                _program("find", _FOUND, "found", container=whole),
                {"name": "keep", "inputs": _takes("said", "found"), "resource": resource},
            ],
        },
    }


class _Objects:
    """What the test makes in the stack's namespace."""

    def __init__(self, kube: Kube, namespace: str) -> None:
        self._kube = kube
        self._made: list[str] = []
        self.core = f"/api/v1/namespaces/{namespace}"
        self.workflow = f"/apis/argoproj.io/v1alpha1/namespaces/{namespace}/workflows/{_NAME}"
        self.access = f"/apis/{_ACCESS}/v1/namespaces/{namespace}"

    def make(self, path: str, thing: dict[str, Any]) -> None:
        metadata = {"name": path.rpartition("/")[2], **thing.get("metadata", {})}
        self._made.append(path)
        self._kube.apply(path, {**thing, "metadata": metadata}, "tests")

    def account(self) -> None:
        """The service account of the Workflow's pods."""
        keeps = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["create", "get"]}
        role = {"apiGroup": _ACCESS, "kind": "Role", "name": _NAME}
        self.make(f"{self.core}/serviceaccounts/{_NAME}", {"apiVersion": "v1", "kind": "ServiceAccount"})
        kind = {"apiVersion": f"{_ACCESS}/v1"}
        self.make(f"{self.access}/roles/{_NAME}", {**kind, "kind": "Role", "rules": [*EXECUTOR_RULES, keeps]})
        subjects = [{"kind": "ServiceAccount", "name": _NAME}]
        binding = {**kind, "kind": "RoleBinding", "roleRef": role, "subjects": subjects}
        self.make(f"{self.access}/rolebindings/{_NAME}", binding)

    def remove(self) -> None:
        for path in reversed(self._made):
            self._kube.delete(path)


@pytest.fixture
def objects(deployed: Deployed) -> Iterator[_Objects]:
    made = _Objects(deployed.kube, deployed.outputs.namespace)
    made.account()
    yield made
    made.remove()


@pytest.mark.nightly("pipelines/test_a_commit.py runs on the same controller and executor")
def test_a_workflow_runs_and_its_pods_of_a_queue_are_admitted_by_kueue(deployed: Deployed, objects: _Objects) -> None:
    kube = deployed.kube
    objects.make(objects.workflow, _workflow("models"))

    def status() -> dict[str, Any]:
        return dict((kube.get(objects.workflow) or {}).get("status") or {})

    eventually(lambda: status().get("phase") in ("Succeeded", "Failed", "Error"), PATIENT_SECONDS, about=status)
    assert status()["phase"] == "Succeeded", status()
    kept = kube.get(f"{objects.core}/configmaps/{_NAME}")
    assert kept
    assert sorted(json.loads(kept["data"]["said"])) == ["1", "4", "9"]
    assert json.loads(kept["data"]["found"]) == {"1": "1", "2": "4", "3": "9"}

    pods = kube.items(f"{objects.core}/pods", labelSelector=f"workflows.argoproj.io/workflow={_NAME}")
    queued = {pod["metadata"]["uid"] for pod in pods if QUEUE_LABEL in pod["metadata"]["labels"]}
    assert len(queued) == 3 and len(pods) == 6

    def owned() -> dict[str, dict[str, Any]]:
        return admitted.by_owner(kube, deployed.outputs.namespace)

    eventually(lambda: queued <= {*owned()} and all(admitted.was_admitted(owned()[uid]) for uid in queued), about=owned)
    assert {pod["metadata"]["uid"] for pod in pods} & {*owned()} == queued, "pods without the label are nobody's"
    assert {owned()[uid]["spec"]["queueName"] for uid in queued} == {_QUEUE}
