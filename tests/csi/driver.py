"""A driver in a process of its own, which tests may kill."""

from __future__ import annotations

import ctypes
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import grpc

from tensorplane.core.paths import PROJECT
from tests.csi.client import Client
from tests.support.waiting import PATIENT_SECONDS, eventually

# The kernel ends what these start when this process is gone, so nothing of a killed test run stays mounted.
GUARDED = ("setpriv", "--pdeathsig", "KILL", "--")


class Driver:
    """A driver on a folder, in the mount namespace of the process that mounted it, if it is another."""

    def __init__(self, folder: Path, holder: int | None = None, mirror: Path | None = None) -> None:
        self.folder, self._holder, self._mirror = folder, holder, mirror
        self._countdown = folder / "countdown"
        self.socket = folder / "csi.sock"
        self.registration = folder / "registration.sock"
        self.start()

    def start(self) -> None:
        """Starts it and waits until it answers."""
        arguments = ["--socket", self.socket, "--registration", self.registration, "--pool", self.folder / "pool"]
        mirror = ["--mirror", self._mirror] if self._mirror else []
        python = [sys.executable, "-X", "faulthandler", "-m", "tests.csi.dying"]
        program = [*python, self._countdown, *arguments, *mirror, "--node", "node-1"]
        place = ["nsenter", f"--mount=/proc/{self._holder}/ns/mnt", f"--wdns={PROJECT}"] if self._holder else []
        for left in (self.socket, self._countdown):
            left.unlink(missing_ok=True)
        with (self.folder / "driver.log").open("ab") as log:
            self._process = subprocess.Popen(
                [*place, *GUARDED, *map(str, program)], cwd=PROJECT, stdout=log, stderr=log
            )

        def answers() -> bool:
            assert self._process.poll() is None, self.log
            return self.socket.exists()

        eventually(answers, about=lambda: self.log)
        self.client = Client(self.socket)
        assert self.client.Probe().ready.value

    @property
    def log(self) -> str:
        """What it printed."""
        return (self.folder / "driver.log").read_text()

    def inside(self, path: Path) -> Path:
        """A path as the driver sees it."""
        return Path(f"/proc/{self._holder}/root{path}") if self._holder else path

    def volume(self, id_: str) -> Path:
        """A volume's folder."""
        return self.inside(self.folder / "pool/volumes" / id_)

    def snapshot(self, id_: str) -> Path:
        """A snapshot's folder."""
        return self.inside(self.folder / "pool/snapshots" / id_)

    def kill(self) -> None:
        """Ends it at once, wherever it is."""
        self._process.kill()
        self._process.wait()
        self.client.close()

    def die_in(self, call: Callable[[], object], changes: int) -> None:
        """Makes a call; the driver ends before the last of so many changes of the disk, or after the call. It is back
        when this returns."""
        draft = self._countdown.with_suffix(".draft")
        draft.write_text(str(changes))
        draft.replace(self._countdown)
        with suppress(grpc.RpcError):
            call()
        self.kill()
        self.start()

    def stop(self, *, by_main_thread: bool = True) -> None:
        """Asks it to end. One that hangs is aborted, so that its log ends with its stacks."""
        if by_main_thread:
            self._process.terminate()
        else:
            threads = sorted(int(thread.name) for thread in Path(f"/proc/{self._process.pid}/task").iterdir())
            ctypes.CDLL(None).tgkill(self._process.pid, threads[-1], signal.SIGTERM)
        try:
            assert self._process.wait(PATIENT_SECONDS) == 0, self.log
        except subprocess.TimeoutExpired:
            self._process.send_signal(signal.SIGABRT)
            self._process.wait()
            raise AssertionError(f"it has not ended:\n{self.log}") from None
        self.client.close()


def empty(driver: Driver) -> None:
    """Deletes every volume and snapshot."""
    for entry in driver.client.ListSnapshots().entries:
        driver.client.DeleteSnapshot(snapshot_id=entry.snapshot.snapshot_id)
    for entry in driver.client.ListVolumes().entries:
        driver.client.DeleteVolume(volume_id=entry.volume.volume_id)
