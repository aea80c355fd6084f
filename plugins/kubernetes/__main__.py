"""Starts the provider as the engine starts plugins: prints the port, serves until it is ended."""

from __future__ import annotations

import os
import signal
import sys
import threading
from concurrent import futures
from types import FrameType

from tensorplane.plugins import engine_protocol
from tensorplane.plugins.kubernetes import official

# Each awaited object occupies a thread, and `Cancel` must find a free one.
_THREADS = 512
_PARENT_CHECK_SECONDS = 0.1
_MAX_MESSAGE = 400 * 1024 * 1024  # the engine's own limit


def main(arguments: list[str]) -> int:
    engine = os.getppid()
    found = official.installed()
    if found:
        message = f"not started, because Pulumi's own plugin is installed in {found}"
        print(f"embedded Kubernetes provider: {message}", file=sys.stderr)
        return 1
    ended = threading.Event()

    def end(number: int, frame: FrameType | None) -> None:
        ended.set()

    # The engine ends its plugins with SIGINT; a terminal's Ctrl-C does not reach their process group.
    # Set before anything slow is imported: an interrupted start must not print a traceback.
    signal.signal(signal.SIGINT, end)
    signal.signal(signal.SIGTERM, end)
    _serve([argument for argument in arguments if not argument.startswith("-")], ended, engine)
    return 0


def _serve(addresses: list[str], ended: threading.Event, engine: int) -> None:
    engine_protocol.without_sdk()
    import grpc
    from pulumi.runtime.proto import provider_pb2_grpc

    from tensorplane.plugins.kubernetes.servicer import Servicer

    servicer = Servicer(addresses[0] if addresses else None)
    options = [(f"grpc.max_{way}_message_length", _MAX_MESSAGE) for way in ("send", "receive")]
    server = grpc.server(futures.ThreadPoolExecutor(_THREADS), options=options)
    provider_pb2_grpc.add_ResourceProviderServicer_to_server(servicer, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    print(port, flush=True)
    while not ended.wait(_PARENT_CHECK_SECONDS):
        if os.getppid() != engine:
            # A killed engine does not cancel. Work without it is not recorded in the state, so stop at once: the next
            # update looks up the results of pending operations, which must not change afterwards.
            os._exit(1)
    servicer.session.cancelled.set()
    server.stop(grace=2).wait()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
