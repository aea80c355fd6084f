"""Takes a folder into the pool as a volume: python -m embedded.csi.adopt --pool P --name N --size BYTES FOLDER."""

from __future__ import annotations

import argparse
import hashlib
import os
import stat
import subprocess
import sys
from pathlib import Path

from embedded.csi.names import identifier
from embedded.csi.records import Volume
from embedded.csi.sizes import Asked
from embedded.csi.store import Store
from embedded.fault import Fault

_ROOM = 1.1
"""A folder had no limit of its own: one that holds more than its volume may gets a volume that it fits into."""


def adopt(store: Store, folder: Path, name: str, size: int) -> Volume:
    """A volume of that name with a copy of the folder, compared byte by byte. The folder stays as it is.

    What an earlier attempt left is made anew: until this returns, nobody has been told of the volume.
    """
    store.delete_volume(identifier(name))
    volume = store.create_volume(name, Asked(at_least=max(size, int(_taken(folder) * _ROOM))), None)
    path = store.path(volume)
    copied = subprocess.run(["cp", "--archive", "--no-target-directory", "--", folder, path], capture_output=True)
    if copied.returncode:
        raise Fault(f"{folder}: cannot be copied: {copied.stderr.decode(errors='replace').strip()}")
    subprocess.run(["sync", "--file-system", "--", path], check=True)
    if different := differences(folder, path):
        raise Fault(f"{folder}: its copy differs at {different[0]}: is something writing to it?")
    return volume


def differences(one: Path, other: Path) -> list[str]:
    """Paths that are not the same below two folders: kind, mode, owner, content."""
    ours, theirs = _entries(one), _entries(other)
    return sorted(path for path in ours.keys() | theirs.keys() if ours.get(path) != theirs.get(path))


def _entries(folder: Path) -> dict[str, tuple[int, int, int, bytes]]:
    found = {".": folder, **{str(path.relative_to(folder)): path for path in folder.rglob("*")}}
    return {name: _entry(path) for name, path in found.items()}


def _entry(path: Path) -> tuple[int, int, int, bytes]:
    about = path.lstat()
    content = b""
    if stat.S_ISLNK(about.st_mode):
        content = os.fsencode(path.readlink())
    elif stat.S_ISREG(about.st_mode):
        with path.open("rb") as file:
            content = hashlib.file_digest(file, "sha256").digest()
    return about.st_mode, about.st_uid, about.st_gid, content


def _taken(folder: Path) -> int:
    sizes = (path.lstat() for path in folder.rglob("*"))
    return sum(max(about.st_size, about.st_blocks * 512) for about in sizes)


def main() -> int:
    """Prints the volume's id."""
    parser = argparse.ArgumentParser(prog="python -m embedded.csi.adopt", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--pool", type=Path, required=True)
    parser.add_argument("--name", required=True)
    parser.add_argument("--size", type=int, required=True)
    asked = parser.parse_args()
    store = Store(asked.pool)
    try:
        print(adopt(store, asked.folder, asked.name, asked.size).id)
    except Fault as fault:
        print(*fault.lines, sep="\n", file=sys.stderr)
        return 1
    finally:
        store.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
