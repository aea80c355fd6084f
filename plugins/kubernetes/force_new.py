"""Fields whose change replaces the object, per built-in kind, as in pulumi-kubernetes.

Source: pulumi-kubernetes, provider/pkg/provider/diff.go. No change of a field replaces a custom resource.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tensorplane.core.gvk import GVK
from tensorplane.plugins.kubernetes.settings import Settings

Path = tuple[str | int, ...]

_VOLUME_SOURCES = [
    "awsElasticBlockStore",
    "azureDisk",
    "azureFile",
    "cephfs",
    "cinder",
    "csi",
    "fc",
    "flexVolume",
    "flocker",
    "gcePersistentDisk",
    "glusterfs",
    "hostPath",
    "iscsi",
    "local",
    "nfs",
    "photonPersistentDisk",
    "portworxVolume",
    "quobyte",
    "rbd",
    "scaleIO",
    "storageos",
    "vsphereVolume",
]
_POD_FIELDS = [
    "affinity",
    "automountServiceAccountToken",
    "dnsConfig",
    "dnsPolicy",
    "enableServiceLinks",
    "hostAliases",
    "hostIPC",
    "hostNetwork",
    "hostPID",
    "hostname",
    "imagePullSecrets",
    "nodeName",
    "nodeSelector",
    "overhead",
    "preemptionPolicy",
    "priority",
    "priorityClassName",
    "readinessGates",
    "restartPolicy",
    "runtimeClassName",
    "schedulerName",
    "securityContext",
    "serviceAccount",
    "serviceAccountName",
    "shareProcessNamespace",
    "subdomain",
    "terminationGracePeriodSeconds",
    "volumes",
]
_CONTAINER_FIELDS = [
    "args",
    "command",
    "env",
    "image",
    "imagePullPolicy",
    "lifecycle",
    "livenessProbe",
    "ports",
    "readinessProbe",
    "resources",
    "securityContext",
    "stdin",
    "stdinOnce",
    "terminationMessagePath",
    "terminationMessagePolicy",
    "tty",
    "volumeDevices",
    "volumeMounts",
    "workingDir",
]

_SELECTOR = ("spec.selector",)
_STATEFUL_SET = tuple(
    f"spec.{name}"
    for name in ("podManagementPolicy", "revisionHistoryLimit", "selector", "serviceName", "volumeClaimTemplates")
)
_JOB = ("spec.completions", "spec.parallelism", "spec.selector", "spec.template")
_ROLE_BINDING = ("roleRef",)

_FIELDS: dict[str, Iterable[str]] = {
    "apps/v1beta1/StatefulSet": _STATEFUL_SET,
    **{f"apps/{v}/StatefulSet": _STATEFUL_SET for v in ("v1beta2", "v1")},
    **{f"apps/{v}/{kind}": _SELECTOR for v in ("v1beta2", "v1") for kind in ("DaemonSet", "Deployment")},
    **{f"batch/{v}/Job": _JOB for v in ("v1beta1", "v1", "v2alpha1")},
    "policy/v1beta1/PodDisruptionBudget": ("spec",),
    **{
        f"rbac.authorization.k8s.io/{v}/{kind}": _ROLE_BINDING
        for v in ("v1alpha1", "v1beta1", "v1")
        for kind in ("ClusterRoleBinding", "RoleBinding")
    },
    "storage.k8s.io/v1/StorageClass": ("parameters", "provisioner"),
    "v1/PersistentVolume": [f"spec.{name}" for name in _VOLUME_SOURCES],
    "v1/PersistentVolumeClaim": [f"spec.{n}" for n in ("accessModes", "selector", "storageClassName", "volumeName")],
    "v1/Pod": [
        *(f"spec.{name}" for name in _POD_FIELDS),
        *(f"spec.{which}.*.{name}" for which in ("containers", "initContainers") for name in _CONTAINER_FIELDS),
    ],
    "v1/ResourceQuota": ("spec.scopes",),
    "v1/Secret": ("type",),
    "v1/Service": ("spec.clusterIP",),
}
_IDENTITY = ("metadata.name", "metadata.namespace")


def identity() -> list[Path]:
    """Fields that replace objects of any kind."""
    return [_parse(text) for text in _IDENTITY]


def fields(obj: dict[str, Any], settings: Settings) -> list[Path]:
    """All replacing fields of an object; `*` stands for any item of a list."""
    gvk = GVK.of(obj)
    texts = [*_IDENTITY, *_FIELDS.get(str(gvk), ())]
    if gvk == ("", "v1", "Secret") and (not settings.enable_secret_mutable or obj.get("immutable") is True):
        texts += ["stringData", "data"]
    if gvk == ("", "v1", "ConfigMap") and (not settings.enable_config_map_mutable or obj.get("immutable") is True):
        texts += ["binaryData", "data"]
    return [_parse(text) for text in texts]


def touches(replacing: Path, path: Path, value: Any) -> bool:
    """Whether writing `value` at `path` changes the replacing field, which is on the path or in the value."""
    for wanted, found in zip(replacing, path, strict=False):
        if wanted != found and not (wanted == "*" and isinstance(found, int)):
            return False
    return _contains(value, replacing[len(path) :])


def _contains(value: Any, rest: Path) -> bool:
    if not rest:
        return True
    if rest[0] == "*":
        return isinstance(value, list) and any(_contains(item, rest[1:]) for item in value)
    return isinstance(value, dict) and rest[0] in value and _contains(value[rest[0]], rest[1:])


def _parse(text: str) -> Path:
    return tuple(text.split("."))
