"""Rounds of snapshots, restores and full copies, with a separate CSI driver on a separate pool.

`python -m bench.snapshot_rounds FOLDER ROUNDS`, in a separate mount namespace, prints the rounds as JSON.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import grpc
from google.protobuf.message_factory import GetMessageClass

from tensorplane.core.errors import UserError
from tensorplane.core.paths import PROJECT
from tensorplane.embedded.csi import btrfs, pool
from tensorplane.embedded.csi.generated import csi_pb2

SMALL, LARGE = (1 << 30) // 10, 2 << 30
_FILES = 16
"""In each volume, so that they only differ in size: btrfs records for each file that a snapshot shares it."""
_POOL_GIB = 24  # sparse
_SNAPSHOTS, _RESTORES = 15, 9
_PAUSE_SECONDS = 1.0
_START_SECONDS = 20.0


@dataclass(frozen=True)
class Round:
    """Times of one round in seconds, each the median of several; the copy is one."""

    small: float
    """A snapshot of the small volume."""
    large: float
    """A snapshot of the large one, taken in turn with the small one's."""
    restore: float
    """A new volume from the large one's snapshot."""
    copy: float
    """The large one's files copied in full and synced."""
    extra: float
    """Bytes on disk that a snapshot of the large one added, as a share of it."""


class _Driver:
    """CSI calls to a driver in a separate process."""

    def __init__(self, socket: Path) -> None:
        self._channel = grpc.insecure_channel(f"unix:{socket}")

    def __call__(self, method: str, **fields: Any) -> tuple[Any, float]:
        """The response, and its time."""
        found = csi_pb2.DESCRIPTOR.services_by_name["Controller"].methods_by_name[method]
        ask = self._channel.unary_unary(
            f"/{found.containing_service.full_name}/{method}",
            request_serializer=GetMessageClass(found.input_type).SerializeToString,
            response_deserializer=GetMessageClass(found.output_type).FromString,
        )
        request = GetMessageClass(found.input_type)(**fields)
        began = time.perf_counter()
        answer = ask(request, timeout=_START_SECONDS, wait_for_ready=True)
        return answer, time.perf_counter() - began

    def create(self, name: str, snapshot: str = "") -> tuple[Any, float]:
        """A volume, empty or with a snapshot's content."""
        wanted = csi_pb2.VolumeCapability
        mode = wanted.AccessMode(mode=wanted.AccessMode.MULTI_NODE_MULTI_WRITER)
        source = csi_pb2.VolumeContentSource
        return self(
            "CreateVolume",
            name=name,
            capacity_range=csi_pb2.CapacityRange(required_bytes=2 * LARGE),
            volume_capabilities=[wanted(mount=wanted.MountVolume(), access_mode=mode)],
            volume_content_source=source(snapshot=source.SnapshotSource(snapshot_id=snapshot)) if snapshot else None,
        )


@contextmanager
def _driver(folder: Path) -> Iterator[_Driver]:
    socket = folder / "csi.sock"
    program = [
        sys.executable,
        "-m",
        "tensorplane.embedded.csi",
        "--socket",
        socket,
        "--pool",
        folder / "pool",
        "--node",
        "bench",
    ]
    with subprocess.Popen([*map(str, program)], cwd=PROJECT, stdout=subprocess.DEVNULL) as process:
        try:
            yield _Driver(socket)
        finally:
            process.terminate()


def _fill(folder: Path, size: int) -> None:
    for number in range(_FILES):
        (folder / f"part-{number}").write_bytes(os.urandom(size // _FILES))


def _on_disk(folder: Path) -> int:
    """Used bytes of the pool's data and metadata, after all writes."""
    btrfs.sync(folder)
    kinds = Path("/sys/fs/btrfs") / str(btrfs.identity(folder)) / "allocation"
    return sum(int((kinds / kind / "disk_used").read_text()) for kind in ("data", "metadata", "system"))


def _round(number: int, folder: Path, call: _Driver, small: str, large: str) -> Round:
    taken: dict[str, list[float]] = {small: [], large: []}
    for one in range(_SNAPSHOTS):
        # In alternating order: the time of a commit depends on the commits before it.
        for volume in (small, large) if one % 2 else (large, small):
            taken[volume].append(call("CreateSnapshot", name=f"{volume}-{one}", source_volume_id=volume)[1])
    restored = [call.create(f"restored-{one}", f"{large}-0")[1] for one in range(_RESTORES)]
    copied = _copy(folder / "volumes" / large, folder / f"copy-{number}")
    before = _on_disk(folder)
    call("CreateSnapshot", name=f"{large}-{_SNAPSHOTS}", source_volume_id=large)
    extra = (_on_disk(folder) - before) / LARGE
    _clear(folder, call, [small, large])
    middle = statistics.median
    return Round(middle(taken[small]), middle(taken[large]), middle(restored), copied, extra)


def _copy(source: Path, copy: Path) -> float:
    began = time.perf_counter()
    subprocess.run(["cp", "--archive", "--reflink=never", source, copy], check=True)
    subprocess.run(["sync", "--file-system", copy], check=True)
    return time.perf_counter() - began


def _clear(folder: Path, call: _Driver, keep: list[str]) -> None:
    """Restores the state before the round: a snapshot takes longer the more there are."""
    for entry in call("ListSnapshots")[0].entries:
        call("DeleteSnapshot", snapshot_id=entry.snapshot.snapshot_id)
    for entry in call("ListVolumes")[0].entries:
        if entry.volume.volume_id not in keep:
            call("DeleteVolume", volume_id=entry.volume.volume_id)
    # Deletions finish in the background.
    subprocess.run(["btrfs", "subvolume", "sync", folder], check=True, stdout=subprocess.DEVNULL)
    btrfs.sync(folder)
    time.sleep(_PAUSE_SECONDS)


def main(folder: Path, rounds: int) -> list[Round]:
    """Creates the pool and two volumes, and measures."""
    if not pool.can_have_btrfs():
        raise UserError("this machine has no btrfs, so snapshots cannot be measured; install btrfs-progs")
    at = folder / "pool"
    pool.make_and_mount(folder / "pool.btrfs", at, _POOL_GIB)
    with _driver(folder) as call:
        small, large = (call.create(name)[0].volume.volume_id for name in ("small", "large"))
        for volume, size in ((small, SMALL), (large, LARGE)):
            _fill(at / "volumes" / volume, size)
        btrfs.sync(at)
        time.sleep(_PAUSE_SECONDS)
        return [_round(number, at, call, small, large) for number in range(rounds)]


if __name__ == "__main__":
    print(json.dumps([asdict(one) for one in main(Path(sys.argv[1]), int(sys.argv[2]))]))
