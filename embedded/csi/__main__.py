"""Runs the driver: python -m embedded.csi --socket S --registration R --pool P [--mirror M] --node NAME.

With a second pool and the API server's address, it publishes the age of mirrors as annotations and metrics, and
restores the mirroring of volumes whose class has it.
"""

from __future__ import annotations

import argparse
import signal
import sys
import threading
from functools import partial
from pathlib import Path

import grpc

from tensorplane.embedded.csi import metrics, serve
from tensorplane.embedded.csi.api import Api
from tensorplane.embedded.csi.failover import Failover
from tensorplane.embedded.csi.growth import Guard
from tensorplane.embedded.csi.intended import Intended
from tensorplane.embedded.csi.lag import Lag, lags
from tensorplane.embedded.csi.mirror import Schedule
from tensorplane.embedded.csi.published import Published
from tensorplane.embedded.csi.store import Store

_GRACE_SECONDS = 5.0
_LOOK_SECONDS = 1.0


def main() -> int:
    """Serves until a signal ends it. Calls in progress are finished first, within seconds."""
    arguments = _arguments()
    ended = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.set())
    store = Store(arguments.pool)
    target = Store(arguments.mirror) if arguments.mirror else None
    servers = [serve.csi(arguments.socket, store, arguments.node, Failover(store, target) if target else None)]
    if arguments.registration:
        servers.append(serve.registration(arguments.registration, arguments.socket))
    for server in servers:
        server.start()
    api = Api(arguments.api, arguments.authority, arguments.certificate) if arguments.api else None
    schedule = _mirror(store, target, api) if target else None
    if target and api and arguments.metrics:
        host, _, port = arguments.metrics.rpartition(":")
        metrics.serve((host, int(port)), arguments.metrics_certificate, api.may_get, partial(lags, store, target))
    if target and api:
        threading.Thread(target=Intended(store, api).watch, args=(ended,), name="intended", daemon=True).start()
    threading.Thread(target=Guard(store).watch, args=(ended,), name="room", daemon=True).start()
    print(f"serving {arguments.pool} ({store.storage.kind})", flush=True)
    while not ended.wait(_LOOK_SECONDS):
        pass  # a signal that another thread takes does not wake this one
    _end(servers, schedule, [store, target] if target else [store])
    return 0


def _end(servers: list[grpc.Server], schedule: Schedule | None, stores: list[Store]) -> None:
    for stopping in [server.stop(_GRACE_SECONDS) for server in servers]:
        stopping.wait(2 * _GRACE_SECONDS)
    if schedule:
        schedule.stop()
    for store in stores:
        store.close()


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m embedded.csi", description=__doc__)
    parser.add_argument("--socket", type=Path, required=True, help="socket on which it serves CSI")
    parser.add_argument("--registration", type=Path, help="the kubelet's folder for plugin registration")
    parser.add_argument("--pool", type=Path, required=True, help="mounted folder for volumes")
    parser.add_argument("--mirror", type=Path, help="mounted folder of a second pool, for mirrors")
    parser.add_argument("--node", required=True, help="the node's name")
    parser.add_argument("--api", help="the API server's address, to publish the age of mirrors")
    parser.add_argument("--authority", type=Path, help="the CA of the API server's certificate")
    parser.add_argument("--certificate", type=Path, help="the driver's client certificate, with its key")
    parser.add_argument("--metrics", help="address and port of metrics; the API server authorizes their readers")
    parser.add_argument(
        "--metrics-certificate", type=Path, help="the certificate of the metrics' address, with its key"
    )
    return parser.parse_args()


def _mirror(store: Store, target: Store, api: Api | None) -> Schedule:
    return Schedule(store, target, Published(api).say if api else _nothing)


def _nothing(known: list[Lag]) -> None:
    """Without an API server, nothing is published."""


if __name__ == "__main__":
    sys.exit(main())
