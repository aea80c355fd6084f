"""`python -m components.catalog.update SNAPSHOTS`: write the data files of the catalog from clones of repositories."""

from __future__ import annotations

import argparse
import importlib
import sys
from pathlib import Path

from tensorplane.components import catalog
from tensorplane.components.catalog.files import DATA


def main() -> int:
    """Writes the files. Returns 1, after a line, if a snapshot is missing."""
    parser = argparse.ArgumentParser(
        prog="python -m components.catalog.update", description="Update the catalog's data files."
    )
    parser.add_argument("snapshots", type=Path, help="folder with the repositories, cloned as OWNER/NAME")
    parser.add_argument("--cloud", choices=catalog.clouds(), action="append", help="only this one (may be repeated)")
    args = parser.parse_args()
    try:
        for cloud in args.cloud or catalog.clouds():
            importlib.import_module(f"tensorplane.components.catalog.update.{cloud}").update(
                args.snapshots, DATA / cloud
            )
    except FileNotFoundError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
