"""Process of the language host: serves until the CLI ends it, or has itself ended."""

from __future__ import annotations

import os
import signal
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

from tensorplane.plugins import engine_protocol

_MESSAGE_LIMIT = 400 << 20  # as Pulumi's own hosts
_PARENT_CHECK_SECONDS = 0.5


def main() -> int:
    """Prints the port, serves, and leaves no process running."""
    engine_protocol.without_sdk()
    import grpc
    from pulumi.runtime.proto import language_pb2_grpc

    from tensorplane.plugins.hosts.language import VERSION, LanguageHost

    arguments = [argument for argument in sys.argv[1:] if not argument.startswith("-")]
    if "--version" in sys.argv[1:]:
        print(f"v{VERSION}")
        return 0
    parent = os.getppid()
    ended = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.set())
    with suppress(PermissionError):  # a session leader already leads its group
        os.setpgid(0, 0)
    host = LanguageHost(arguments[-1] if arguments else "")
    server = grpc.server(
        ThreadPoolExecutor(max_workers=16),
        options=[("grpc.max_receive_message_length", _MESSAGE_LIMIT), ("grpc.so_reuseport", 0)],
    )
    language_pb2_grpc.add_LanguageRuntimeServicer_to_server(host, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    print(port, flush=True)
    while not ended.wait(_PARENT_CHECK_SECONDS) and os.getppid() == parent:
        pass
    host.close()
    server.stop(None)
    _end_strays()
    return 0


def _end_strays() -> None:
    # Processes that a user's program started and did not wait for are in our process group, unknown to the CLI.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    os.killpg(os.getpgrp(), signal.SIGTERM)


if __name__ == "__main__":
    sys.exit(main())
