"""Starts the provider of one package the way the engine starts a plugin: prints the port, serves until it is ended."""

from __future__ import annotations

import os
import signal
import sys
import threading
from concurrent import futures

_THREADS = 16
_PARENT_CHECK_SECONDS = 0.2
_MAX_MESSAGE = 400 * 1024 * 1024  # the engine's own limit


def main(arguments: list[str]) -> int:
    """`arguments`: the package's name (`aws`), from the launcher, then the engine's arguments."""
    engine = os.getppid()
    ended = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.set())
    package, *addresses = [argument for argument in arguments if not argument.startswith("-")]
    _serve(package, addresses, ended, engine)
    return 0


def _serve(package: str, addresses: list[str], ended: threading.Event, engine: int) -> None:
    # Imported after the signals are handled: an interrupted start must not print a traceback.
    import grpc
    from pulumi.runtime.proto import provider_pb2_grpc

    from tensorplane.plugins.preview.sdk import Sdk
    from tensorplane.plugins.preview.servicer import Servicer

    options = [(f"grpc.max_{way}_message_length", _MAX_MESSAGE) for way in ("send", "receive")]
    server = grpc.server(futures.ThreadPoolExecutor(_THREADS), options=options)
    servicer = Servicer(Sdk(package), addresses[0] if addresses else None)
    provider_pb2_grpc.add_ResourceProviderServicer_to_server(servicer, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    print(port, flush=True)
    while not ended.wait(_PARENT_CHECK_SECONDS) and os.getppid() == engine:
        pass
    server.stop(grace=1).wait()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
