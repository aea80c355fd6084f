"""Unpacks files that do not fit into one ConfigMap, before a pod's container starts.

    python3 -I unpack.py PARTS FOLDER [PARTS FOLDER ...]

PARTS has the parts of a tar archive, which are joined in the order of their names.
"""

from __future__ import annotations

import io
import sys
import tarfile
from collections.abc import Sequence
from pathlib import Path


def unpack(parts: Path, folder: Path) -> None:
    """Unpacks an archive into a folder. Raises tarfile.TarError if a part is missing."""
    # Kubernetes' own files in the folder begin with dots.
    archive = b"".join(part.read_bytes() for part in sorted(parts.glob("part-*")))
    with tarfile.open(fileobj=io.BytesIO(archive), errorlevel=2) as opened:
        for entry in opened:
            target = folder / entry.name
            content = opened.extractfile(entry)
            if content is None or not target.resolve().is_relative_to(folder.resolve()):
                raise tarfile.ExtractError(f"{entry.name} is not a file inside the folder")
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content.read())


def main(arguments: Sequence[str]) -> None:
    """Unpacks each archive into its folder."""
    for index in range(0, len(arguments), 2):
        unpack(Path(arguments[index]), Path(arguments[index + 1]))


if __name__ == "__main__":
    main(sys.argv[1:])
