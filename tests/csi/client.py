"""Calls of CSI, as the provisioner and the kubelet make them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import grpc
from google.protobuf.message_factory import GetMessageClass

from tensorplane.embedded.csi.generated import csi_pb2
from tests.support.waiting import PATIENT_SECONDS

MODES = csi_pb2.VolumeCapability.AccessMode


def capability(mode: int = MODES.MULTI_NODE_MULTI_WRITER) -> csi_pb2.VolumeCapability:
    """A folder that may be used in the given way, by any number of pods unless told otherwise."""
    found: Any = csi_pb2.VolumeCapability
    return found(mount=found.MountVolume(), access_mode=found.AccessMode(mode=mode))  # type: ignore[no-any-return]


class Client:
    """One connection to a driver."""

    def __init__(self, socket: Path, file: Any = csi_pb2.DESCRIPTOR) -> None:
        self._channel = grpc.insecure_channel(f"unix:{socket}")
        self._file = file

    def __getattr__(self, method: str) -> Any:
        """A call, named as in csi.proto; its fields are keywords."""
        found = next(one for one in self._methods() if one.name == method)
        call = self._channel.unary_unary(
            f"/{found.containing_service.full_name}/{method}",
            request_serializer=GetMessageClass(found.input_type).SerializeToString,
            response_deserializer=GetMessageClass(found.output_type).FromString,
        )
        return lambda **fields: call(
            GetMessageClass(found.input_type)(**fields), timeout=PATIENT_SECONDS, wait_for_ready=True
        )

    def _methods(self) -> list[Any]:
        return [method for service in self._file.services_by_name.values() for method in service.methods]

    def create(self, name: str, mib: int = 64, **fields: Any) -> Any:
        """A new volume."""
        size = csi_pb2.CapacityRange(required_bytes=mib << 20)
        answer = self.CreateVolume(name=name, capacity_range=size, volume_capabilities=[capability()], **fields)
        return answer.volume

    def close(self) -> None:
        """Ends the connection."""
        self._channel.close()


def of_volume(id_: str) -> csi_pb2.VolumeContentSource:
    """A clone's source."""
    found = csi_pb2.VolumeContentSource
    return found(volume=found.VolumeSource(volume_id=id_))


def of_snapshot(id_: str) -> csi_pb2.VolumeContentSource:
    """What a restored volume is made of."""
    found = csi_pb2.VolumeContentSource
    return found(snapshot=found.SnapshotSource(snapshot_id=id_))
