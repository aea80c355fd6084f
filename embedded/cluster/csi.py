"""The CSI side of the cluster: its driver, the sidecar controllers, their RBAC, the classes.

Once enabled, they stay part of an instance, since its pool may have volumes.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import yaml

from tensorplane.embedded.cluster import kubeconfig
from tensorplane.embedded.cluster.node_paths import NodePaths
from tensorplane.embedded.cluster.nodes import NODE_NAME
from tensorplane.embedded.cluster.pki import Leaf
from tensorplane.embedded.csi import contract
from tensorplane.embedded.csi.contract import DRIVER, MIRROR
from tensorplane.embedded.instance import Instance

CLASS = "tensorplane-embedded"
"""Name of the StorageClass and of the VolumeSnapshotClass."""
UNMIRRORED = "tensorplane-unmirrored"
"""The VolumeAttributesClass of volumes without mirrors: a claim can change its class, but never remove it."""
DRIVER_PROGRAM = "csi-driver"
METRICS_PORT = 9810
_METRICS = "csi-metrics"
CONTROLLERS = ("csi-provisioner", "csi-snapshotter", "snapshot-controller", "csi-resizer")
_GROUP = "rbac.authorization.k8s.io"
_READ = ("get", "list", "watch")

_Object = dict[str, Any]


def is_part_of(paths: NodePaths) -> bool:
    """Whether the instance has it."""
    return paths.pool.exists()


def leaves(instance: Instance) -> list[Leaf]:
    """A certificate for the driver and each controller, to whose name its RBAC is bound, and one for metrics."""
    clients = [Leaf(name, "ca", _user(name)) for name in (DRIVER_PROGRAM, *CONTROLLERS)]
    return [*clients, Leaf(_METRICS, "ca", _user(_METRICS), addresses=(instance.node_ip,))]


def driver_command(paths: NodePaths) -> tuple[Path, tuple[str, ...]]:
    """The driver's program and its arguments. That of the first node creates volumes, too."""
    node = (
        *("--socket", str(_socket(paths))),
        *("--registration", str(paths.kubelet_root / "plugins_registry" / f"{DRIVER}-reg.sock")),
        *("--pool", str(paths.pool)),
    )
    if not paths.node.is_first:
        return Path(sys.executable), (
            "-m",
            "tensorplane.embedded.cluster.node_volumes",
            *node,
            "--node",
            paths.node.name,
        )
    arguments = (
        *("-m", "tensorplane.embedded.csi"),
        *node,
        *("--mirror", str(paths.mirror)),
        *("--node", NODE_NAME),
        *("--api", kubeconfig.server(paths.instance)),
        *("--authority", str(paths.keys / "ca.crt")),
        *("--certificate", str(paths.keys / f"{DRIVER_PROGRAM}.pem")),
        *("--metrics", f"{paths.instance.node_ip}:{METRICS_PORT}"),
        *("--metrics-certificate", str(paths.keys / f"{_METRICS}.pem")),
    )
    return Path(sys.executable), arguments


def arguments(paths: NodePaths, controller: str) -> tuple[str, ...]:
    """A controller's command line. It is the only replica, so no leader election, and does not listen."""
    kubeconfig = f"--kubeconfig={paths.config}/{controller}.kubeconfig"
    if controller == "snapshot-controller":
        return kubeconfig, "--leader-election=false"
    # If volumes are copied, not cloned, a call takes as long as the copy.
    both = (kubeconfig, f"--csi-address={_socket(paths)}", "--leader-election=false", "--timeout=300s")
    again = ("--retry-interval-start=500ms", "--retry-interval-max=30s")
    return {
        "csi-provisioner": (*both, *again, "--extra-create-metadata"),
        "csi-snapshotter": (*both, *again, "--extra-create-metadata"),
        "csi-resizer": (*both, *again, "--handle-volume-inuse-error=false", "--extra-modify-metadata"),
    }[controller]


def _socket(paths: NodePaths) -> Path:
    return paths.kubelet_root / "plugins" / DRIVER / "csi.sock"


def manifests(crds: Path) -> list[_Object]:
    """The CustomResourceDefinitions of snapshots, RBAC, the CSIDriver and its classes, in the order of creation."""
    kinds = [yaml.safe_load(path.read_text()) for path in sorted(crds.glob("snapshot.storage.k8s.io_*.yaml"))]
    rights = [made for name in (DRIVER_PROGRAM, *CONTROLLERS) for made in _rights(name)]
    return [*kinds, *rights, *_annotations_alone(), _driver(), _storage_class(), _unmirrored(), _snapshot_class()]


def _driver() -> _Object:
    spec = {
        "attachRequired": False,  # the volume is on the node already
        "podInfoOnMount": False,
        "fsGroupPolicy": "File",  # pods of one group share a volume, whichever wrote first
        "volumeLifecycleModes": ["Persistent"],
    }
    return {"apiVersion": "storage.k8s.io/v1", "kind": "CSIDriver", "metadata": {"name": DRIVER}, "spec": spec}


def _storage_class() -> _Object:
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": CLASS},
        "provisioner": DRIVER,
        # Claims are easily deleted, even by the deletion of a namespace; their data must not be.
        "reclaimPolicy": "Retain",
        "allowVolumeExpansion": True,
        # Every node has every volume, so there is no first consumer to wait for.
        "volumeBindingMode": "Immediate",
    }


def _unmirrored() -> _Object:
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "VolumeAttributesClass",
        "metadata": {"name": UNMIRRORED},
        "driverName": DRIVER,
        "parameters": {MIRROR: "0"},
    }


def _snapshot_class() -> _Object:
    mark = "snapshot.storage.kubernetes.io/is-default-class"
    return {
        "apiVersion": "snapshot.storage.k8s.io/v1",
        "kind": "VolumeSnapshotClass",
        "metadata": {"name": CLASS, "annotations": {mark: "true"}},
        "driver": DRIVER,
        "deletionPolicy": "Retain",
    }


def _user(controller: str) -> str:
    return f"tensorplane:{controller}"


def _rights(controller: str) -> list[_Object]:
    rules = [
        {"apiGroups": [group], "resources": [resource], "verbs": list(verbs)}
        for group, resource, verbs in _RULES[controller]
    ]
    api, user = f"{_GROUP}/v1", _user(controller)
    role = {"apiVersion": api, "kind": "ClusterRole", "metadata": {"name": user}, "rules": rules}
    binding = {
        "apiVersion": api,
        "kind": "ClusterRoleBinding",
        "metadata": {"name": user},
        "roleRef": {"apiGroup": _GROUP, "kind": "ClusterRole", "name": user},
        "subjects": [{"apiGroup": _GROUP, "kind": "User", "name": user}],
    }
    return [role, binding]


def _annotations_alone() -> list[_Object]:
    """RBAC cannot restrict fields: this policy limits the driver's changes of volumes to the annotations of mirrors."""
    api, name = "admissionregistration.k8s.io/v1", f"tensorplane-{DRIVER_PROGRAM}"
    on = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["UPDATE"], "resources": ["persistentvolumes"]}
    spec = {
        "failurePolicy": "Fail",
        "matchConstraints": {"resourceRules": [on]},
        "matchConditions": [
            {"name": "driver", "expression": f"request.userInfo.username == '{_user(DRIVER_PROGRAM)}'"}
        ],
        "validations": [
            {"expression": expression, "message": "the driver changes annotations of mirrors alone"}
            for expression in _SAME
        ],
    }
    policy = {"apiVersion": api, "kind": "ValidatingAdmissionPolicy", "metadata": {"name": name}, "spec": spec}
    binding = {"policyName": name, "validationActions": ["Deny"]}
    bound = {"apiVersion": api, "kind": "ValidatingAdmissionPolicyBinding", "metadata": {"name": name}, "spec": binding}
    return [policy, bound]


_SAME = (
    "object.spec == oldObject.spec",
    "object.metadata.?labels == oldObject.metadata.?labels",
    "object.metadata.?finalizers == oldObject.metadata.?finalizers",
    "object.metadata.?ownerReferences == oldObject.metadata.?ownerReferences",
    # The provisioner and the resizer own the other annotations.
    *(
        f"{one}.metadata.?annotations.orValue({{}}).all(key, key.startsWith('{contract.MIRROR_ANNOTATION}') || "
        f"{one}.metadata.annotations[key] == {other}.metadata.?annotations.orValue({{}})[?key].orValue(''))"
        for one, other in (("object", "oldObject"), ("oldObject", "object"))
    ),
)

_STORAGE, _SNAPSHOTS = "storage.k8s.io", "snapshot.storage.k8s.io"
_EVENTS = ("", "events", ("list", "watch", "create", "update", "patch"))

# RBAC rules from their own manifests, without secrets, leases, group snapshots and attachments.
_RULES: dict[str, tuple[tuple[str, str, tuple[str, ...]], ...]] = {
    DRIVER_PROGRAM: (
        ("", "persistentvolumes", ("list", "patch")),
        (_STORAGE, "volumeattributesclasses", ("list",)),
    ),
    "csi-provisioner": (
        _EVENTS,
        ("", "persistentvolumes", (*_READ, "create", "patch", "delete")),
        ("", "persistentvolumeclaims", (*_READ, "update")),
        ("", "nodes", _READ),
        (_STORAGE, "storageclasses", _READ),
        (_STORAGE, "csinodes", _READ),
        (_STORAGE, "volumeattributesclasses", ("get",)),
        (_SNAPSHOTS, "volumesnapshots", (*_READ, "update")),
        (_SNAPSHOTS, "volumesnapshotcontents", ("get", "list")),
    ),
    "csi-snapshotter": (
        _EVENTS,
        (_SNAPSHOTS, "volumesnapshotclasses", _READ),
        (_SNAPSHOTS, "volumesnapshotcontents", (*_READ, "update", "patch")),
        (_SNAPSHOTS, "volumesnapshotcontents/status", ("update", "patch")),
    ),
    "snapshot-controller": (
        _EVENTS,
        ("", "persistentvolumes", _READ),
        ("", "persistentvolumeclaims", (*_READ, "update")),
        (_SNAPSHOTS, "volumesnapshotclasses", _READ),
        (_SNAPSHOTS, "volumesnapshotcontents", (*_READ, "create", "update", "patch", "delete")),
        (_SNAPSHOTS, "volumesnapshotcontents/status", ("patch",)),
        (_SNAPSHOTS, "volumesnapshots", (*_READ, "update", "patch")),
        (_SNAPSHOTS, "volumesnapshots/status", ("update", "patch")),
    ),
    "csi-resizer": (
        _EVENTS,
        ("", "persistentvolumes", (*_READ, "patch")),
        ("", "persistentvolumeclaims", _READ),
        ("", "persistentvolumeclaims/status", ("patch",)),
        ("", "pods", _READ),
        (_STORAGE, "volumeattributesclasses", _READ),
    ),
}
