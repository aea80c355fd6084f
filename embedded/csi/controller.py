"""CSI's Controller service: creates, expands, copies, lists and deletes volumes and snapshots."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TypeVar

from google.protobuf.timestamp_pb2 import Timestamp
from google.protobuf.wrappers_pb2 import Int64Value

from tensorplane.embedded.csi import refusal, requested, sizes
from tensorplane.embedded.csi.contract import MIRROR, MIRROR_OF
from tensorplane.embedded.csi.failover import Failover
from tensorplane.embedded.csi.generated import csi_pb2
from tensorplane.embedded.csi.records import Snapshot, Source, Volume
from tensorplane.embedded.csi.requested import required
from tensorplane.embedded.csi.store import Store, VolumeRecord

_Record = TypeVar("_Record", Volume, Snapshot)
_TOKEN = re.compile(r"(\d+)\.([a-z0-9-]+)")


def page(found: Sequence[_Record], most: int, token: str) -> tuple[list[_Record], str]:
    """The records after the token, and the next page's token. `most`: records of a page, 0 for all.

    The oldest are first, so that new entries are on later pages.
    """
    if most < 0:
        raise refusal.invalid(f"max_entries: {most} is negative; set 0 or more")
    after = _parse(token) if token else (-1, "")
    left = [record for record in found if (record.created, record.id) > after]
    if not most or len(left) <= most:
        return left, ""
    last = left[most - 1]
    return left[:most], f"{last.created}.{last.id}"


def _parse(token: str) -> tuple[int, str]:
    match = _TOKEN.fullmatch(token)
    if not match:
        raise refusal.busy(f"starting_token: {token!r} is not a token of this driver; start again without one")
    return int(match[1]), match[2]


_Rpc = csi_pb2.ControllerServiceCapability.RPC
_CAPABILITIES = (
    _Rpc.CREATE_DELETE_VOLUME,
    _Rpc.LIST_VOLUMES,
    _Rpc.GET_VOLUME,
    _Rpc.GET_CAPACITY,
    _Rpc.CREATE_DELETE_SNAPSHOT,
    _Rpc.LIST_SNAPSHOTS,
    _Rpc.CLONE_VOLUME,
    _Rpc.EXPAND_VOLUME,
    _Rpc.MODIFY_VOLUME,
    _Rpc.SINGLE_NODE_MULTI_WRITER,
)


class Controller:
    """The volumes of one node's pool."""

    def __init__(self, store: Store, failover: Failover | None = None) -> None:
        """`failover`: None without a second pool."""
        self._store, self._failover = store, failover

    def ControllerGetCapabilities(  # noqa: N802
        self, request: csi_pb2.ControllerGetCapabilitiesRequest
    ) -> csi_pb2.ControllerGetCapabilitiesResponse:
        kinds = [csi_pb2.ControllerServiceCapability(rpc=_Rpc(type=kind)) for kind in _CAPABILITIES]
        return csi_pb2.ControllerGetCapabilitiesResponse(capabilities=kinds)

    def CreateVolume(self, request: csi_pb2.CreateVolumeRequest) -> csi_pb2.CreateVolumeResponse:  # noqa: N802
        name = required(request.name, "name")
        requested.check_capabilities(request.volume_capabilities)
        requested.check_parameters(request.parameters, [MIRROR_OF])
        record = self._record(request.mutable_parameters, request.parameters)
        size, source = requested.size(request.capacity_range), requested.source(request.volume_content_source)
        if origin := requested.mirror_of(request.parameters):
            if source or not self._failover:
                reason = "conflicts with volume_content_source" if source else "this driver has no second pool"
                raise refusal.invalid(f"parameters.{MIRROR_OF}: {reason}")
            return csi_pb2.CreateVolumeResponse(
                volume=self._volume(self._failover.create_volume(name, size, origin, record))
            )
        made = self._store.create_volume(name, size, source, record)
        return csi_pb2.CreateVolumeResponse(volume=self._volume(made))

    def ControllerModifyVolume(  # noqa: N802
        self, request: csi_pb2.ControllerModifyVolumeRequest
    ) -> csi_pb2.ControllerModifyVolumeResponse:
        id_ = required(request.volume_id, "volume_id")
        self._store.modify_volume(id_, self._record(request.mutable_parameters, request.mutable_parameters))
        return csi_pb2.ControllerModifyVolumeResponse()

    def _record(self, mutable: Mapping[str, str], parameters: Mapping[str, str]) -> VolumeRecord:
        requested.check_parameters(mutable, [MIRROR])
        seconds = requested.mirror_seconds(mutable, has_mirror=self._failover is not None)
        return VolumeRecord(seconds, requested.claim(parameters))

    def DeleteVolume(self, request: csi_pb2.DeleteVolumeRequest) -> csi_pb2.DeleteVolumeResponse:  # noqa: N802
        self._store.delete_volume(required(request.volume_id, "volume_id"))
        return csi_pb2.DeleteVolumeResponse()

    def ValidateVolumeCapabilities(  # noqa: N802
        self, request: csi_pb2.ValidateVolumeCapabilitiesRequest
    ) -> csi_pb2.ValidateVolumeCapabilitiesResponse:
        id_ = required(request.volume_id, "volume_id")
        if not request.volume_capabilities:
            requested.check_capabilities(())
        self._store.volume(id_)
        reason = next((text for one in request.volume_capabilities if (text := requested.unsupported(one))), "")
        answer = csi_pb2.ValidateVolumeCapabilitiesResponse(message=reason)
        if not reason:
            answer.confirmed.volume_capabilities.extend(request.volume_capabilities)
            answer.confirmed.volume_context.update(request.volume_context)
            answer.confirmed.parameters.update(request.parameters)
        return answer

    def ListVolumes(self, request: csi_pb2.ListVolumesRequest) -> csi_pb2.ListVolumesResponse:  # noqa: N802
        found, token = page(self._store.all_volumes(), request.max_entries, request.starting_token)
        entries = [csi_pb2.ListVolumesResponse.Entry(volume=self._volume(one)) for one in found]
        return csi_pb2.ListVolumesResponse(entries=entries, next_token=token)

    def ControllerGetVolume(  # noqa: N802
        self, request: csi_pb2.ControllerGetVolumeRequest
    ) -> csi_pb2.ControllerGetVolumeResponse:
        found = self._store.volume(required(request.volume_id, "volume_id"))
        status = csi_pb2.ControllerGetVolumeResponse.VolumeStatus()
        return csi_pb2.ControllerGetVolumeResponse(volume=self._volume(found), status=status)

    def GetCapacity(self, request: csi_pb2.GetCapacityRequest) -> csi_pb2.GetCapacityResponse:  # noqa: N802
        if any(requested.unsupported(one) for one in request.volume_capabilities):
            return csi_pb2.GetCapacityResponse(available_capacity=0)
        return csi_pb2.GetCapacityResponse(
            available_capacity=self._store.free,
            maximum_volume_size=Int64Value(value=self._store.total),
            minimum_volume_size=Int64Value(value=sizes.MINIMUM),
        )

    def ControllerExpandVolume(  # noqa: N802
        self, request: csi_pb2.ControllerExpandVolumeRequest
    ) -> csi_pb2.ControllerExpandVolumeResponse:
        id_ = required(request.volume_id, "volume_id")
        if not request.HasField("capacity_range"):
            required("", "capacity_range")
        found = self._store.expand_volume(id_, requested.size(request.capacity_range))
        return csi_pb2.ControllerExpandVolumeResponse(capacity_bytes=found.size, node_expansion_required=False)

    def CreateSnapshot(self, request: csi_pb2.CreateSnapshotRequest) -> csi_pb2.CreateSnapshotResponse:  # noqa: N802
        name, volume = required(request.name, "name"), required(request.source_volume_id, "source_volume_id")
        requested.check_parameters(request.parameters)
        return csi_pb2.CreateSnapshotResponse(snapshot=_snapshot(self._store.create_snapshot(name, volume)))

    def DeleteSnapshot(self, request: csi_pb2.DeleteSnapshotRequest) -> csi_pb2.DeleteSnapshotResponse:  # noqa: N802
        self._store.delete_snapshot(required(request.snapshot_id, "snapshot_id"))
        return csi_pb2.DeleteSnapshotResponse()

    def ListSnapshots(self, request: csi_pb2.ListSnapshotsRequest) -> csi_pb2.ListSnapshotsResponse:  # noqa: N802
        found, token = page(
            [
                one
                for one in self._store.all_snapshots()
                if request.snapshot_id in ("", one.id) and request.source_volume_id in ("", one.volume)
            ],
            request.max_entries,
            request.starting_token,
        )
        entries = [csi_pb2.ListSnapshotsResponse.Entry(snapshot=_snapshot(one)) for one in found]
        return csi_pb2.ListSnapshotsResponse(entries=entries, next_token=token)

    def _volume(self, volume: Volume) -> csi_pb2.Volume:
        # A volume restored from a mirror was not requested with a content source, so callers expect none.
        source = _source(volume.source) if volume.source and volume.source.kind != "mirror" else None
        return csi_pb2.Volume(volume_id=volume.id, capacity_bytes=volume.size, content_source=source)


def _source(source: Source) -> csi_pb2.VolumeContentSource:
    kinds = csi_pb2.VolumeContentSource
    if source.kind == "volume":
        return kinds(volume=kinds.VolumeSource(volume_id=source.id))
    return kinds(snapshot=kinds.SnapshotSource(snapshot_id=source.id))


def _snapshot(snapshot: Snapshot) -> csi_pb2.Snapshot:
    created = Timestamp()
    created.FromNanoseconds(snapshot.created)
    return csi_pb2.Snapshot(
        snapshot_id=snapshot.id,
        source_volume_id=snapshot.volume,
        size_bytes=snapshot.size,
        creation_time=created,
        ready_to_use=True,
    )
