"""A user program that the language host runs: started under a guard, interrupted on cancel, ended with the host."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

_GUARD = Path(__file__).parent / "inside" / "guard.py"
_GRACE_SECONDS = 3.0  # less than the 5 s that the CLI gives the host itself


class Child:
    """A running Python program. It stays in the host's process group, which the CLI ends as a whole."""

    def __init__(
        self,
        python: Path,
        arguments: Sequence[str],
        *,
        cwd: str,
        env: Mapping[str, str],
        capture: bool = False,
    ) -> None:
        output = subprocess.PIPE if capture else None
        guarded = [str(python), "-I", "-S", str(_GUARD), str(os.getpid()), str(python), *arguments]
        self._stopped = threading.Event()
        self.process = subprocess.Popen(
            guarded, cwd=cwd, env=dict(env), stdin=subprocess.PIPE, stdout=output, stderr=output
        )

    def send(self, text: str) -> None:
        """Writes to the program's standard input and closes it."""
        stdin = self._stdin()
        with suppress(BrokenPipeError), stdin:
            stdin.write(text.encode())

    def wait(self) -> int:
        """Exit status once the program has ended; negative for a signal."""
        return self.process.wait()

    @property
    def stopped(self) -> bool:
        """Whether the program ended, or will end, because of `interrupt`."""
        return self._stopped.is_set()

    def stop(self) -> None:
        """Interrupts the program as Ctrl-C would, and kills it if it does not end. Returns at once."""
        if self._stopped.is_set() or self.process.poll() is not None:
            return
        self._stopped.set()
        self.process.send_signal(signal.SIGINT)
        killer = threading.Timer(_GRACE_SECONDS, self._kill)
        killer.daemon = True
        killer.start()

    def _kill(self) -> None:
        if self.process.poll() is None:
            self.process.kill()

    def _stdin(self) -> IO[bytes]:
        if self.process.stdin is None:
            raise ValueError("the program's standard input is not ours")
        return self.process.stdin


class Children:
    """The running programs, so that the host can end all of them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: set[Child] = set()

    def add(self, child: Child) -> None:
        with self._lock:
            self._running.add(child)

    def remove(self, child: Child) -> None:
        with self._lock:
            self._running.discard(child)

    def stop(self) -> None:
        """Interrupts every program. Returns at once."""
        for child in self._all():
            child.stop()

    def end(self) -> None:
        """Interrupts every program and waits until all have ended."""
        self.stop()
        for child in self._all():
            child.wait()

    def _all(self) -> list[Child]:
        with self._lock:
            return list(self._running)
