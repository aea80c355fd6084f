"""Runs the driver: python -m embedded.csi --socket S --registration R --pool P [--mirror M] --node NAME."""

from __future__ import annotations

import argparse
import signal
import sys
import threading
from pathlib import Path

from embedded.csi import serve
from embedded.csi.mirror import Mirror, Schedule
from embedded.csi.store import Store

_GRACE_SECONDS = 5.0


def main() -> int:
    """Serves until it is told to end. What a call had begun is finished first, within seconds."""
    parser = argparse.ArgumentParser(prog="python -m embedded.csi", description=__doc__)
    parser.add_argument("--socket", type=Path, required=True, help="where it serves CSI")
    parser.add_argument("--registration", type=Path, help="where the kubelet looks for plugins")
    parser.add_argument("--pool", type=Path, required=True, help="folder of the volumes, mounted already")
    parser.add_argument("--mirror", type=Path, help="folder of a second pool, for copies of volumes")
    parser.add_argument("--node", required=True, help="the node's name")
    asked = parser.parse_args()
    ended = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.set())
    store = Store(asked.pool)
    target = Store(asked.mirror) if asked.mirror else None
    servers = [serve.csi(asked.socket, store, asked.node, has_mirror=bool(target))]
    if asked.registration:
        servers.append(serve.registration(asked.registration, asked.socket))
    for server in servers:
        server.start()
    schedule = Schedule(store, Mirror(store, target)) if target else None
    print(f"serving {asked.pool} ({store.storage.kind})", flush=True)
    ended.wait()
    for stopping in [server.stop(_GRACE_SECONDS) for server in servers]:
        stopping.wait()
    if schedule:
        schedule.stop()
    for one in (store, target):
        if one:
            one.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
