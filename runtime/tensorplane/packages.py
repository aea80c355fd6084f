"""Installs the locked packages of a job on a volume, once for all pods and runs that ask for the same ones.

    python3 -I packages.py REQUIREMENTS FOLDER

REQUIREMENTS has versions and hashes, and FOLDER is named by them and by the image, so it is either complete or missing.
The first pod of each role installs them with the image's pip and the index that PIP_INDEX_URL names; the others wait.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
import uuid
from collections.abc import Sequence
from pathlib import Path

_INDEX = "JOB_COMPLETION_INDEX"
_PATIENCE_SECONDS = 900.0
_PIP = ("--no-input", "--disable-pip-version-check", "--no-cache-dir", "--progress-bar", "off", "--root-user-action")
_LOCKED = ("--no-deps", "--require-hashes", "--only-binary", ":all:")


def install(requirements: Path, folder: Path, *, patience: float = 0) -> int:
    """Installs the packages in a folder, unless it exists or another pod installs it within `patience` seconds.

    Returns pip's exit code, 0 if they are there.
    """
    end = time.monotonic() + patience
    while not folder.is_dir():
        if time.monotonic() >= end:
            return _installed(requirements, folder)
        time.sleep(0.5)
    return 0


def _installed(requirements: Path, folder: Path) -> int:
    draft = folder.with_name(f".draft-{folder.name}-{uuid.uuid4().hex}")
    draft.parent.mkdir(parents=True, exist_ok=True)
    argv = [sys.executable, "-m", "pip", "install", *_PIP, "ignore", *_LOCKED, "--target", str(draft)]
    try:
        code = subprocess.run([*argv, "--requirement", str(requirements)]).returncode
        if code == 0:
            os.sync()
            draft.rename(folder)
    except OSError:
        # Another pod was faster: a rename never replaces a folder with content.
        if not folder.is_dir():
            raise
        code = 0
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return code


def main(arguments: Sequence[str]) -> int:
    """The exit code of the init container."""
    requirements, folder = map(Path, arguments)
    code = install(requirements, folder, patience=0 if os.environ.get(_INDEX, "0") == "0" else _PATIENCE_SECONDS)
    if code:
        hint = "pods reach a package index only through `egress` of the job; PIP_INDEX_URL in its env names another one"
        print(f"tensorplane: packages: pip failed with exit code {code}; {hint}", file=sys.stderr, flush=True)
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
