"""Environment variables, mounts and annotations that give a container devices which its pod does not request."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping
from typing import Any

from gpu_usage.manifest import UNKNOWN, Path, UncountableError, dotted, unknown

_VARIABLES = tuple(f"{vendor}_VISIBLE_DEVICES" for vendor in ("NVIDIA", "AMD", "HABANA", "ASCEND"))
_NO_DEVICES = ("", "none", "void")
# NVIDIA's toolkit derives devices from mounts below the first path. /var/run is a link to /run in most images.
_MOUNTS = ("/var/run/nvidia-container-devices", "/run/nvidia-container-devices")
# The Container Device Interface, of any vendor and with the prefix that the GPU Operator gives it; CRI-O's devices;
# the plugins of NRI that inject devices.
_ANNOTATION = re.compile(
    r"([\w-]+\.)*cdi\.k8s\.io/.*|io\.kubernetes\.cri-o\.Devices(/.*)?|(cdi-)?devices\.(nri\.io|noderesource\.dev)(/.*)?"
)
_REMEDY = "remove it, and request accelerators in `resources.limits`"


def refuse(value: Mapping[str, Any], path: Path) -> None:
    """Error of a map that is such a variable, mount or annotation."""
    refuse_entry(value.get("name"), value.get("value"), path)
    for key, inner in value.items():
        refuse_entry(key, inner, path)
    _refuse_mount(value.get("mountPath"), (*path, "mountPath"))
    if "configMapRef" in value or "secretRef" in value:
        _refuse_prefix(value.get("prefix"), (*path, "prefix"))


def refuse_entry(name: Any, value: Any, path: Path) -> None:
    """Error of a variable or annotation, by name."""
    if not isinstance(name, str):
        return
    if (name in _VARIABLES and value not in _NO_DEVICES) or _ANNOTATION.fullmatch(name):
        raise _refused(f"`{dotted(path)}` sets {name}, which")


def refuse_in_container(container: Mapping[str, Any], path: Path) -> None:
    """Error of a container's variables and mounts, also if names and paths are unknown."""
    for key, member in (("env", "name"), ("envFrom", "prefix"), ("volumeMounts", "mountPath")):
        value = container.get(key)
        if value is UNKNOWN:
            raise unknown((*path, key))
        for each in value if isinstance(value, list) else ():
            if each is UNKNOWN or (isinstance(each, dict) and each.get(member) is UNKNOWN):
                raise unknown((*path, key, member))
            if isinstance(each, dict):
                refuse(each, (*path, key))


def _refuse_mount(mounted: Any, path: Path) -> None:
    if not isinstance(mounted, str):
        return
    # Kubernetes interprets a relative path as below the root.
    at = f"/{mounted.lstrip('/')}"
    below = f"{posixpath.normpath(at)}/"
    start, is_filled_in, _ = at.partition("{{")
    if any(below.startswith(f"{root}/") or (is_filled_in and root.startswith(start)) for root in _MOUNTS):
        raise _refused(f"`{dotted(path)}` is {mounted}, which")


def _refuse_prefix(prefix: Any, path: Path) -> None:
    """Error of a prefix that turns another key into such a variable."""
    if isinstance(prefix, str) and prefix and any(name.startswith(prefix) for name in _VARIABLES):
        raise _refused(f"`{dotted(path)}` is {prefix}, which may make a variable of a key that")


def _refused(problem: str) -> UncountableError:
    return UncountableError(f"{problem} shows a container devices that it does not request", _REMEDY)
