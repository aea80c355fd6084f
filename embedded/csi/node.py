"""CSI's Node service: bind-mounts a volume's folder at the target path of a pod."""

from __future__ import annotations

import threading
from contextlib import suppress
from pathlib import Path

from tensorplane.embedded.csi import mounts, refusal, requested
from tensorplane.embedded.csi.generated import csi_pb2
from tensorplane.embedded.csi.requested import required
from tensorplane.embedded.csi.store import Store

_Rpc = csi_pb2.NodeServiceCapability.RPC
# No staging: a bind mount per pod suffices, and saves the kubelet a call.
_CAPABILITIES = (_Rpc.GET_VOLUME_STATS, _Rpc.EXPAND_VOLUME, _Rpc.SINGLE_NODE_MULTI_WRITER)


class Node:
    """The one node whose disk the pool is on."""

    def __init__(self, store: Store, node: str) -> None:
        self._store, self._node = store, node
        self._mounting = threading.Lock()

    def NodeGetInfo(self, request: csi_pb2.NodeGetInfoRequest) -> csi_pb2.NodeGetInfoResponse:  # noqa: N802
        return csi_pb2.NodeGetInfoResponse(node_id=self._node)

    def NodeGetCapabilities(  # noqa: N802
        self, request: csi_pb2.NodeGetCapabilitiesRequest
    ) -> csi_pb2.NodeGetCapabilitiesResponse:
        kinds = [csi_pb2.NodeServiceCapability(rpc=_Rpc(type=kind)) for kind in _CAPABILITIES]
        return csi_pb2.NodeGetCapabilitiesResponse(capabilities=kinds)

    def NodePublishVolume(  # noqa: N802
        self, request: csi_pb2.NodePublishVolumeRequest
    ) -> csi_pb2.NodePublishVolumeResponse:
        id_, target = required(request.volume_id, "volume_id"), Path(required(request.target_path, "target_path"))
        if not request.HasField("volume_capability"):
            required("", "volume_capability")
        capability = request.volume_capability
        requested.check_capabilities([capability])
        folder = self._store.path(self._store.volume(id_))
        read_only = request.readonly or requested.is_read_only(capability)
        with self._mounting:
            if mount := mounts.at(target):
                _check_same(folder, target, mount.read_only, read_only)
                return csi_pb2.NodePublishVolumeResponse()
            if requested.is_for_one(capability) and (used := mounts.showing(folder)):
                raise refusal.in_use(f"{id_}: only one pod may mount it, and it is already mounted at {used[0]}")
            target.mkdir(exist_ok=True)
            mounts.bind(folder, target, requested.options(capability, read_only=read_only))
        return csi_pb2.NodePublishVolumeResponse()

    def NodeUnpublishVolume(  # noqa: N802
        self, request: csi_pb2.NodeUnpublishVolumeRequest
    ) -> csi_pb2.NodeUnpublishVolumeResponse:
        required(request.volume_id, "volume_id")
        target = Path(required(request.target_path, "target_path"))
        with self._mounting:
            mounts.detach(target)
            with suppress(FileNotFoundError):
                target.rmdir()
        return csi_pb2.NodeUnpublishVolumeResponse()

    def NodeGetVolumeStats(  # noqa: N802
        self, request: csi_pb2.NodeGetVolumeStatsRequest
    ) -> csi_pb2.NodeGetVolumeStatsResponse:
        id_, path = required(request.volume_id, "volume_id"), Path(required(request.volume_path, "volume_path"))
        volume = self._store.volume(id_)
        folder = self._store.path(volume)
        if not path.exists() or not path.samefile(folder):
            raise refusal.missing(f"{path}: volume {id_} is not mounted there")
        used = self._store.storage.usage(folder)
        usage = csi_pb2.VolumeUsage(unit=csi_pb2.VolumeUsage.BYTES, total=volume.size)
        if used is None:
            usage.available = self._store.free
        else:
            usage.used, usage.available = used, max(0, min(volume.size - used, self._store.free))
        return csi_pb2.NodeGetVolumeStatsResponse(usage=[usage])

    def NodeExpandVolume(  # noqa: N802
        self, request: csi_pb2.NodeExpandVolumeRequest
    ) -> csi_pb2.NodeExpandVolumeResponse:
        id_, path = required(request.volume_id, "volume_id"), Path(required(request.volume_path, "volume_path"))
        volume = self._store.volume(id_)
        if not path.exists():
            raise refusal.missing(f"{path}: volume {id_} is not mounted there")
        # The controller's call changed the limit, at once and for every mount.
        return csi_pb2.NodeExpandVolumeResponse(capacity_bytes=volume.size)


def _check_same(folder: Path, target: Path, is_read_only: bool, wanted: bool) -> None:
    if not target.samefile(folder):
        raise refusal.taken(f"{target}: something else is mounted there")
    if is_read_only != wanted:
        raise refusal.taken(f"{target}: already mounted {'read-only' if is_read_only else 'writable'}")
