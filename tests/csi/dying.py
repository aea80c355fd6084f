"""The driver, which a test may end at any change of the disk: `python -m tests.csi.dying FILE …`, as `embedded.csi`.

Where FILE is there, it has the number of changes that are left. The driver needs no room to spare on the pool's disk:
how much of it other programs use is none of the tests' business.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tensorplane.embedded.csi import __main__ as driver
from tensorplane.embedded.csi import btrfs, capacity, records

FOLDERS = (
    (records, "write"),
    (records, "keep"),
    (Path, "rename"),
    (Path, "replace"),
    (Path, "unlink"),
    (shutil, "rmtree"),
    (subprocess, "run"),
)
"""What changes the disk where the pool is an ordinary folder."""
SUBVOLUMES = (
    (records, "put"),
    (records, "keep"),
    (Path, "rename"),
    (Path, "replace"),
    (Path, "unlink"),
    (btrfs, "create"),
    (btrfs, "snapshot"),
    (btrfs, "settle"),
    (btrfs, "limit"),
    (btrfs, "destroy"),
)
"""The same where it is on btrfs."""


def watched(change: Callable[..., Any], look: Callable[[], None]) -> Callable[..., Any]:
    """The change, with a look before and after it."""

    def made(*arguments: Any, **more: Any) -> Any:
        look()
        answer = change(*arguments, **more)
        look()
        return answer

    return made


def main() -> int:
    """The driver's own, until the countdown is over."""
    countdown, one = Path(sys.argv.pop(1)), threading.Lock()

    def look() -> None:
        with one:
            if not countdown.exists():
                return
            left = int(countdown.read_text())
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            countdown.write_text(str(left - 1))

    for owner, name in {*FOLDERS, *SUBVOLUMES}:
        setattr(owner, name, watched(getattr(owner, name), look))
    vars(capacity).update(RESERVE=0, _unwritten=lambda: 0)
    return driver.main()


if __name__ == "__main__":
    sys.exit(main())
