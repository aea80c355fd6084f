"""Who the driver is and what it can do: CSI's Identity service, and its registration with the kubelet."""

from __future__ import annotations

from pathlib import Path

from google.protobuf.wrappers_pb2 import BoolValue

from tensorplane.embedded.csi.contract import DRIVER
from tensorplane.embedded.csi.generated import csi_pb2, registration_pb2
from tensorplane.embedded.csi.store import Store

VERSION = "1.0.0"

_Service = csi_pb2.PluginCapability.Service
_Expansion = csi_pb2.PluginCapability.VolumeExpansion


class Identity:
    """Answers for the whole driver."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def GetPluginInfo(self, request: csi_pb2.GetPluginInfoRequest) -> csi_pb2.GetPluginInfoResponse:  # noqa: N802
        manifest = {"storage": self._store.storage.kind}
        return csi_pb2.GetPluginInfoResponse(name=DRIVER, vendor_version=VERSION, manifest=manifest)

    def GetPluginCapabilities(  # noqa: N802
        self, request: csi_pb2.GetPluginCapabilitiesRequest
    ) -> csi_pb2.GetPluginCapabilitiesResponse:
        # No topology: there is one real node, and pods on simulated nodes may "mount" volumes too.
        found = [
            csi_pb2.PluginCapability(service=_Service(type=_Service.CONTROLLER_SERVICE)),
            csi_pb2.PluginCapability(volume_expansion=_Expansion(type=_Expansion.ONLINE)),
        ]
        return csi_pb2.GetPluginCapabilitiesResponse(capabilities=found)

    def Probe(self, request: csi_pb2.ProbeRequest) -> csi_pb2.ProbeResponse:  # noqa: N802
        return csi_pb2.ProbeResponse(ready=BoolValue(value=self._store.is_there))


class Registration:
    """The service that the kubelet calls on sockets in its plugin folder."""

    def __init__(self, csi_socket: Path) -> None:
        self._csi_socket = csi_socket

    def GetInfo(self, request: registration_pb2.InfoRequest) -> registration_pb2.PluginInfo:  # noqa: N802
        return registration_pb2.PluginInfo(
            type="CSIPlugin", name=DRIVER, endpoint=str(self._csi_socket.absolute()), supported_versions=["1.0.0"]
        )

    def NotifyRegistrationStatus(  # noqa: N802
        self, request: registration_pb2.RegistrationStatus
    ) -> registration_pb2.RegistrationStatusResponse:
        outcome = (
            "registered with the kubelet" if request.plugin_registered else f"the kubelet refused: {request.error}"
        )
        print(outcome, flush=True)
        return registration_pb2.RegistrationStatusResponse()
