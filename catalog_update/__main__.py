"""`python -m catalog_update SNAPSHOTS`: write the catalog's data files from snapshots of public repositories."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from catalog_update import aks, eks, gke
from components.catalog.files import DATA

_CLOUDS = {"eks": eks, "gke": gke, "aks": aks}


def main() -> int:
    """Write the files; 1 with a line where a snapshot is missing."""
    parser = argparse.ArgumentParser(prog="python -m catalog_update", description="Update the catalog's data files.")
    parser.add_argument("snapshots", type=Path, help="folder with the repositories, cloned as OWNER/NAME")
    parser.add_argument("--cloud", choices=_CLOUDS, action="append", help="only this one (may be repeated)")
    args = parser.parse_args()
    try:
        for cloud in args.cloud or _CLOUDS:
            _CLOUDS[cloud].update(args.snapshots, DATA / cloud)
    except FileNotFoundError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
