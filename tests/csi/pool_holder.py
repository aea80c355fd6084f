"""Mounts a pool in a mount namespace of its own and keeps that until its standard input ends.

The namespace, its mounts and the loop device are gone when this process and the drivers in it are, however they end.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tensorplane.embedded.csi import pool


def main(folder: Path, gib: int) -> None:
    """Says `ready` once the pool is mounted."""
    pool.make_and_mount(folder / "volumes.btrfs", folder / "pool", gib)
    print("ready", flush=True)
    sys.stdin.read()
    pool.unmount(folder / "pool")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
