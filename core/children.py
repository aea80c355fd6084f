"""The programs that this process started and waits for: all of them end when it stops, however it stops."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from tensorplane.core.errors import UserError

GRACE_SECONDS = 5.0
"""How long a program may take to end by itself after SIGTERM before it gets SIGKILL."""


class Stopped(UserError):
    """A program was ended or not started because the whole run is stopping for another reason."""


class Children:
    """Starts programs, each in a session of its own, and ends all of them at once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: set[subprocess.Popen[str]] = set()
        self.stopping = False

    def start(
        self, argv: Sequence[str], env: Mapping[str, str] | None, cwd: Path | str | None
    ) -> subprocess.Popen[str]:
        """Starts a program without a terminal. Raises Stopped while the run is stopping."""
        environment = {**os.environ, **(env or {})}
        if not shutil.which(argv[0], path=environment.get("PATH")):
            raise UserError(f"{argv[0]}: not found on this machine; install it")
        with self._lock:
            if self.stopping:
                raise Stopped(f"{Path(argv[0]).name}: not started because the run is stopping")
            child = subprocess.Popen(
                _guarded(argv),
                env=environment,
                cwd=cwd,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                errors="replace",
                start_new_session=True,
            )
            self._running.add(child)
            return child

    def end(self, child: subprocess.Popen[str]) -> None:
        """Ends one program and everything that it started, and waits for it."""
        _signal(child, signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            child.wait(GRACE_SECONDS)
        _signal(child, signal.SIGKILL)
        child.wait()
        self.done(child)

    def done(self, child: subprocess.Popen[str]) -> None:
        """Forgets a program that has ended."""
        with self._lock:
            self._running.discard(child)

    def stop(self) -> None:
        """Ends every program and prevents new ones until `reset`. Returns at once; stragglers get SIGKILL."""
        with self._lock:
            self.stopping = True
            running = list(self._running)
        for child in running:
            _signal(child, signal.SIGTERM)
            straggler = threading.Timer(GRACE_SECONDS, _signal, (child, signal.SIGKILL))
            straggler.daemon = True
            straggler.start()

    def reset(self) -> None:
        """Lets programs start again."""
        with self._lock:
            self.stopping = False


def _signal(child: subprocess.Popen[str], number: signal.Signals) -> None:
    if child.poll() is None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(child.pid, number)


def _guarded(argv: Sequence[str]) -> list[str]:
    # After `kill -9` of this process nothing here can run, so the kernel must end the child's session: it signals the
    # guard, and the guard signals its whole process group, including the child's compilers and shells.
    setpriv = shutil.which("setpriv")
    return [setpriv, "--pdeathsig", "TERM", "--", "sh", "-c", _GUARD, *argv] if setpriv else list(argv)


_GUARD = """trap 'trap - TERM; kill 0' TERM; "$0" "$@" & wait $!"""
