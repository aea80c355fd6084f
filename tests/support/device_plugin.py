"""A device plugin of a real node: devices that no program sees, whose health a test sets.

```python
with DevicePlugin.on(RealNode(instance, 2), "nvidia.com/gpu", ["gpu-a", "gpu-b"]) as plugin:
    plugin.set_health("gpu-a", healthy=False)     # the kubelet gives it to no pod, and says so of the one that has it
```
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import grpc

from tensorplane.embedded.cluster.node_paths import DEVICE_PLUGINS
from tests.support.nodes import RealNode
from tests.support.waiting import eventually

_API = "v1beta1"
"""k8s.io/kubelet/pkg/apis/deviceplugin."""
_THREADS = 4
_LOOK_SECONDS = 1.0


class DevicePlugin:
    """Devices of one resource."""

    def __init__(self, devices: Sequence[str]) -> None:
        self._healthy = dict.fromkeys(devices, True)
        self._changed, self._ended = threading.Condition(), False

    @classmethod
    @contextlib.contextmanager
    def on(cls, node: RealNode, resource: str, devices: Sequence[str]) -> Iterator[DevicePlugin]:
        """Registered with the node's kubelet, as long as the block runs and the kubelet is not started again."""
        made, folder = cls(devices), node.path(DEVICE_PLUGINS)
        socket = folder / f"{resource.replace('/', '-')}.sock"
        server = made._server(socket)
        server.start()
        try:
            eventually((folder / "kubelet.sock").exists)
            with grpc.insecure_channel(f"unix:{folder / 'kubelet.sock'}") as kubelet:
                asked = _text(1, _API) + _text(2, socket.name) + _text(3, resource)
                kubelet.unary_unary(f"/{_API}.Registration/Register")(asked)
            yield made
        finally:
            made._end()
            server.stop(None).wait()
            socket.unlink(missing_ok=True)

    def set_health(self, device: str, *, healthy: bool) -> None:
        """Report it to the kubelet."""
        with self._changed:
            self._healthy[device] = healthy
            self._changed.notify_all()

    def _server(self, socket: Path) -> grpc.Server:
        methods = {
            "GetDevicePluginOptions": grpc.unary_unary_rpc_method_handler(lambda *_: b""),
            "ListAndWatch": grpc.unary_stream_rpc_method_handler(self._list_and_watch),
            # One container, which gets nothing for its devices.
            "Allocate": grpc.unary_unary_rpc_method_handler(lambda *_: _field(1, b"")),
        }
        handler = grpc.method_handlers_generic_handler(f"{_API}.DevicePlugin", methods)
        server = grpc.server(ThreadPoolExecutor(_THREADS), handlers=[handler])
        server.add_insecure_port(f"unix:{socket}")
        return server

    def _list_and_watch(self, *_: object) -> Iterator[bytes]:
        told: dict[str, bool] = {}
        while not self._ended:
            if told != self._healthy:
                told = dict(self._healthy)
                yield b"".join(_device(each, healthy=healthy) for each, healthy in told.items())
            with self._changed:
                self._changed.wait(_LOOK_SECONDS)

    def _end(self) -> None:
        with self._changed:
            self._ended = True
            self._changed.notify_all()


def _device(name: str, *, healthy: bool) -> bytes:
    return _field(1, _text(1, name) + _text(2, "Healthy" if healthy else "Unhealthy"))


def _text(number: int, value: str) -> bytes:
    return _field(number, value.encode())


def _field(number: int, value: bytes) -> bytes:
    """A field of a protobuf message, of at most 127 bytes: a string, or a message."""
    assert len(value) < 128
    return bytes([number << 3 | 2, len(value)]) + value
