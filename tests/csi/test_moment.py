"""A snapshot is of one moment: what a program did one after the other is in it up to some point, and nothing later."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.csi.driver import GUARDED, Driver
from tests.support import counts

SNAPSHOTS = counts.of(quick=10, nightly=400)
# Nothing is synced: that is up to programs, and most do not.
WRITER = """
import itertools, os, sys
os.chdir(sys.argv[1])
for number in itertools.count():
    with open("draft", "w") as file:
        file.write(str(number) * 50000)
    os.rename("draft", f"part-{number}")
    with open("draft", "w") as file:
        file.write(str(number))
    os.rename("draft", "newest")
    if number > 2:
        os.unlink(f"part-{number - 3}")
    if number == 3:
        print("ready", flush=True)
"""


@contextmanager
def written(folder: Path) -> Iterator[None]:
    """Files are written and renamed there meanwhile."""
    program = [*GUARDED, sys.executable, "-c", WRITER, str(folder)]
    with subprocess.Popen(program, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout and process.stdout.readline() == "ready\n"
        try:
            yield
            assert process.poll() is None
        finally:
            process.kill()


@pytest.mark.counted
def test_a_file_that_has_its_name_in_a_snapshot_has_its_content_too(driver: Driver) -> None:
    volume = driver.client.create("written", 1024).volume_id
    with written(driver.volume(volume)):
        for number in range(SNAPSHOTS):
            driver.client.CreateSnapshot(name=f"moment-{number}", source_volume_id=volume)
    for number in range(SNAPSHOTS):
        taken = driver.snapshot(f"moment-{number}")
        newest = (taken / "newest").read_text()
        assert (taken / f"part-{newest}").read_text() == newest * 50000
