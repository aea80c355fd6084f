"""The agent that a pipeline has for its steps: what it mounts, and what it may do."""

from __future__ import annotations

import copy
from typing import Any

from tests.support.rendered_files import rendered_tree

_NFS = {"kind": "nfs", "server": "nas.example", "folder": "/data"}
_STAGE = {"command": ["sh", "-c", "true"], "image": "team/stage:1"}
_TREE: dict[str, Any] = {
    "cluster": {"kind": "existing", "context": "team"},
    "namespace": "vision",
    "volumes": {"data": {"sizeGib": 10, "backend": _NFS}, "more": {"sizeGib": 10, "backend": _NFS}},
    "datasets": {"raw": {"volume": "data"}, "prepared": {"volume": "more"}},
    "workloads": {
        "photos": {
            "kind": "pipeline",
            "stages": {"prepare": {**_STAGE, "inputs": {"photos": "raw"}, "output": "prepared"}},
        }
    },
}


def test_it_writes_to_the_volumes_of_all_datasets_and_imports_the_library() -> None:
    template = rendered_tree(_TREE).one("Deployment", "photos-steps").inputs["spec"]["template"]
    (container,) = template["spec"]["containers"]
    mounts = {one["mountPath"]: one for one in container["volumeMounts"]}
    assert {at for at, one in mounts.items() if not one.get("readOnly")} == {"/tmp", "/volumes/data", "/volumes/more"}
    assert container["command"][-4:] == ["-m", "agents.steps", "vision", "photos"]
    variables = {one["name"]: one.get("value") for one in container["env"]}
    of_library = next(at for at in mounts if at.endswith("library"))
    assert variables["PYTHONPATH"].split(":")[1] == f"{of_library}/tensorplane.zip"
    assert "affinity" not in template["spec"]


def test_it_may_change_runs_and_nothing_else() -> None:
    rule, of_lease = rendered_tree(_TREE).one("Role", "photos-steps").inputs["rules"]
    assert rule == {
        "apiGroups": ["argoproj.io"],
        "resources": ["workflows"],
        "verbs": ["get", "list", "watch", "patch"],
    }
    assert (of_lease["resources"], of_lease["resourceNames"]) == (["leases"], ["agent.photos-steps"])


def test_it_meets_the_pods_of_a_volume_of_one_node() -> None:
    tree = copy.deepcopy(_TREE)
    tree["volumes"]["more"] = {
        "sizeGib": 10,
        "accessModes": ["ReadWriteOnce"],
        "backend": {"kind": "storageClass", "name": "disk"},
    }
    template = rendered_tree(tree).one("Deployment", "photos-steps").inputs["spec"]["template"]
    (term,) = template["spec"]["affinity"]["podAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    assert term["labelSelector"]["matchLabels"].items() <= template["metadata"]["labels"].items()
    assert term["topologyKey"] == "kubernetes.io/hostname"
