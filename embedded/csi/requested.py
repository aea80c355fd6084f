"""Reads requests, and refuses what this driver does not support."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tensorplane.embedded.csi import refusal
from tensorplane.embedded.csi.contract import MIRROR, MIRROR_OF
from tensorplane.embedded.csi.generated import csi_pb2
from tensorplane.embedded.csi.records import Source
from tensorplane.embedded.csi.sizes import SizeRange

_Mode = csi_pb2.VolumeCapability.AccessMode
_READERS = (_Mode.SINGLE_NODE_READER_ONLY, _Mode.MULTI_NODE_READER_ONLY)
# Parameters that the provisioner and the snapshotter add, with the names of their objects.
_ADDED = "csi.storage.k8s.io/"
_CLAIM, _NAMESPACE = f"{_ADDED}pvc/name", f"{_ADDED}pvc/namespace"
_FLAGS = frozenset({"ro", "rw", "nodev", "noexec", "nosuid", "noatime", "nodiratime", "relatime"})
_FILESYSTEMS = ("", "btrfs")


def required(value: str, field: str) -> str:
    """The value of a required field; a Refusal if it is empty."""
    if not value:
        raise refusal.invalid(f"{field}: missing")
    return value


def size(capacity: csi_pb2.CapacityRange) -> SizeRange:
    """The requested range of sizes."""
    return SizeRange(capacity.required_bytes, capacity.limit_bytes)


def source(content: csi_pb2.VolumeContentSource) -> Source | None:
    """The content source of a new volume."""
    match content.WhichOneof("type"):
        case "snapshot":
            return Source(
                "snapshot", required(content.snapshot.snapshot_id, "volume_content_source.snapshot.snapshot_id")
            )
        case "volume":
            return Source("volume", required(content.volume.volume_id, "volume_content_source.volume.volume_id"))
    return None


def check_capabilities(requested: Iterable[csi_pb2.VolumeCapability]) -> None:
    """Refuses a request without capabilities, and unsupported ones."""
    capabilities = list(requested)
    if not capabilities:
        raise refusal.invalid("volume_capabilities: missing")
    for capability in capabilities:
        if problem := unsupported(capability):
            raise refusal.invalid(problem)


def unsupported(capability: csi_pb2.VolumeCapability) -> str:
    """Why a capability is not supported; empty if it is."""
    if capability.WhichOneof("access_type") != "mount":
        return "volume_capability: must be of kind mount, since volumes of this driver are folders"
    if capability.access_mode.mode == _Mode.UNKNOWN:
        return "volume_capability.access_mode: missing"
    if capability.mount.fs_type not in _FILESYSTEMS:
        return f"volume_capability.mount.fs_type: {capability.mount.fs_type!r} is not supported; set btrfs or none"
    if unknown := sorted(set(capability.mount.mount_flags) - _FLAGS):
        flags = ", ".join(sorted(_FLAGS))
        return f"volume_capability.mount.mount_flags: {unknown[0]!r} is not supported; choose among {flags}"
    return ""


def is_read_only(capability: csi_pb2.VolumeCapability) -> bool:
    """Whether it only allows reading."""
    return capability.access_mode.mode in _READERS or "ro" in capability.mount.mount_flags


def is_for_one(capability: csi_pb2.VolumeCapability) -> bool:
    """Whether it only allows one pod (ReadWriteOncePod)."""
    return bool(capability.access_mode.mode == _Mode.SINGLE_NODE_SINGLE_WRITER)


def options(capability: csi_pb2.VolumeCapability, *, read_only: bool) -> list[str]:
    """Mount options in addition to `bind`."""
    flags = sorted(set(capability.mount.mount_flags) - {"ro", "rw"})
    return ["ro", *flags] if read_only else flags


def check_parameters(parameters: Mapping[str, str], known: Iterable[str] = ()) -> None:
    """Refuses unknown parameters: a class's parameters are only for the driver."""
    if unknown := sorted(key for key in parameters.keys() - set(known) if not key.startswith(_ADDED)):
        raise refusal.invalid(f"parameters: unknown {unknown[0]!r}; allowed: {', '.join(known) or 'none'}")


def claim(parameters: Mapping[str, str]) -> str:
    """`namespace/name` of the claim of a call; empty if the request does not name it."""
    found = parameters.get(_NAMESPACE, ""), parameters.get(_CLAIM, "")
    return "/".join(found) if all(found) else ""


def mirror_of(parameters: Mapping[str, str]) -> str:
    """The claim whose mirror a new volume restores; empty if it restores none."""
    name = parameters.get(MIRROR_OF, "")
    return f"{required(parameters.get(_NAMESPACE, ''), f'parameters.{_NAMESPACE}')}/{name}" if name else ""


def mirror_seconds(parameters: Mapping[str, str], *, has_mirror: bool) -> int | None:
    """The maximum age of a volume's mirror in seconds, 0 for no mirror; None if the request does not set it."""
    text = parameters.get(MIRROR)
    if text is None:
        return None
    if not text.isascii() or not text.isdecimal():
        raise refusal.invalid(f"parameters.{MIRROR}: {text!r} is not a whole number of seconds")
    if int(text) and not has_mirror:
        raise refusal.invalid(f"parameters.{MIRROR}: this driver has no second pool")
    return int(text)
