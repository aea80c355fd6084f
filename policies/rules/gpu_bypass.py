"""Ways to a GPU that request none: devices of the node, and what hands them out."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator

from gpu_usage.manifest import UNKNOWN
from stack_view import pods
from stack_view.finding import Finding
from stack_view.rule import Config, Rule, Severity, of_each
from stack_view.schemas import EXEMPT
from stack_view.view import Resource, View, at, maps

_DEVICES = (
    *("/dev", "/proc/driver/nvidia", "/sys/class/drm", "/sys/bus/pci"),
    # What hands devices out: the kubelet's and the runtimes' sockets and folders.
    *("/var/lib/kubelet/device-plugins", "/var/lib/kubelet/pod-resources", "/var/run/cdi", "/etc/cdi", "/run/cdi"),
    *("/var/run/docker.sock", "/run/containerd", "/var/run/containerd", "/run/crio", "/var/run/crio"),
    *("/run/nvidia", "/var/run/nvidia", "/usr/local/nvidia", "/home/kubernetes/bin/nvidia"),
)
_REMEDY = "request GPUs in `resources.limits` instead, or list the namespace in `exemptNamespaces`"


def overlaps(path: str) -> bool:
    """Whether a folder of the node has devices, or is inside or around one that has."""
    given = f"{posixpath.normpath(f'/{path}').lstrip('/')}/".lstrip("/")
    return any(f"{one}/"[1:].startswith(given) or given.startswith(f"{one}/"[1:]) for one in _DEVICES)


def _paths(resource: Resource, view: View, config: Config) -> Iterator[Finding]:
    if resource.namespace in config["exemptNamespaces"]:
        return
    for pod in pods.of(resource):
        for volume in maps(pod.spec, "volumes"):
            path = at(volume, "hostPath", "path")
            if path is UNKNOWN or overlaps(str(path)):
                shown = "a path that is not known" if path is UNKNOWN else path
                mount = f"volume {volume.get('name')} of `{pod.dotted_path}` mounts {shown} of the node"
                problem = f"{mount}, which reaches devices"
                yield Finding(problem, f"{_REMEDY} in {view.config}")


def _volumes(resource: Resource, view: View, config: Config) -> Iterator[Finding]:
    manifest = resource.manifest
    if manifest is None or manifest.type != ("core", "PersistentVolume"):
        return
    for kind in ("hostPath", "local"):
        path = at(manifest.body, "spec", kind, "path")
        if path is UNKNOWN or overlaps(str(path)):
            yield Finding(f"`spec.{kind}.path` reaches devices of the node", "name a folder of data")


POLICIES = [
    Rule(
        of_each(_paths),
        name="gpu-device-paths",
        description="No pod reaches devices by paths of its node: /dev, the sockets of device plugins and runtimes.",
        remedy="Request GPUs in resources.limits.",
        severity=Severity.CRITICAL,
        tags=["gpu", "security"],
        config=EXEMPT,
    ),
    Rule(
        of_each(_volumes),
        name="gpu-device-volumes",
        description="No PersistentVolume is a device folder of a node.",
        remedy="Name a folder of data.",
        severity=Severity.CRITICAL,
        tags=["gpu", "security"],
    ),
]
