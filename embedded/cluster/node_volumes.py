"""The CSI driver of a further node: mounts the volumes of the pool, which the first node's driver alone changes.

All nodes have one kernel, so they see one mounted file system. It is a program of its own because only one process at a
time may create and delete volumes (`Store`).
"""

from __future__ import annotations

import argparse
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tensorplane.embedded.csi import refusal, serve, storage
from tensorplane.embedded.csi.path_locks import PathLocks
from tensorplane.embedded.csi.store import Store

_NO_LOCK = -1
_GRACE_SECONDS = 5.0


class _NobodysTurn(PathLocks):
    @contextmanager
    def hold(self, changed: Path, read: Path | None = None) -> Iterator[None]:
        yield from ()
        raise refusal.in_use(f"{changed.name}: the first node's driver alone creates, changes and deletes volumes")


class ReadOnlyStore(Store):
    """A pool that another process keeps: its volumes can be found and mounted. Calls that change it are refused."""

    def __init__(self, pool: Path) -> None:
        self.pool = pool
        self.volumes, self.snapshots = pool / "volumes", pool / "snapshots"
        self.storage = storage.of(pool, _NO_LOCK)
        self._turns = _NobodysTurn()

    @property
    def is_there(self) -> bool:
        return self.volumes.is_dir()

    def close(self) -> None:
        """Nothing is held."""


def main() -> None:
    """Serves the node's kubelet until a signal ends it."""
    arguments = _arguments()
    ended = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.set())
    servers = [
        serve.csi(arguments.socket, ReadOnlyStore(arguments.pool), arguments.node),
        serve.registration(arguments.registration, arguments.socket),
    ]
    for server in servers:
        server.start()
    print(f"mounting volumes of {arguments.pool}", flush=True)
    while not ended.wait(1.0):
        pass  # a signal that another thread takes does not wake this one
    for stopping in [server.stop(_GRACE_SECONDS) for server in servers]:
        stopping.wait(2 * _GRACE_SECONDS)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m embedded.cluster.node_volumes", description=__doc__)
    parser.add_argument("--socket", type=Path, required=True, help="socket on which it serves CSI")
    parser.add_argument("--registration", type=Path, required=True, help="the kubelet's folder for plugin registration")
    parser.add_argument("--pool", type=Path, required=True, help="mounted folder with the volumes")
    parser.add_argument("--node", required=True, help="the node's name")
    return parser.parse_args()


if __name__ == "__main__":
    main()
