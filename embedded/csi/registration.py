"""Registers the driver with the kubelet."""

from __future__ import annotations

from pathlib import Path

from embedded.csi.contract import DRIVER
from embedded.csi.generated import registration_pb2


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
