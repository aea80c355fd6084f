"""SIGTERM as a stop request: all workers save at the same step and exit with a code of their own."""

from __future__ import annotations

import functools
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NoReturn

from tensorplane.log import say

EXIT_SAVED = 75
"""Exit code of a run that was asked to stop and can resume from its checkpoint: EX_TEMPFAIL of sysexits.h."""


class StopRequest:
    """Whether SIGTERM was received. While nothing is unsaved, SIGTERM ends the process at once.

    A thread waits for the signal, because a handler in Python would only run when the call into TensorFlow returns.
    If the first request is created before TensorFlow is imported, all threads block the signal. Otherwise Python's own
    part of the handler, which runs in any thread, wakes the waiting one; TensorFlow replaces it when workers connect,
    and `deferred` installs it again: enter it after the strategy was created, in the main thread.
    TensorFlow holds the interpreter while it waits for other workers; there, SIGTERM waits or SIGKILL comes first, and
    nothing is lost.

    All requests of a process are the same one, so a program may create several, and `fit` its own.
    """

    def __init__(self) -> None:
        self._sigterm = _of_process()

    @property
    def came(self) -> bool:
        return self._sigterm.came.is_set()

    @contextmanager
    def deferred(self) -> Iterator[None]:
        """In this block, the caller checks `came` and saves."""
        self._sigterm.handle()
        self._sigterm.unsaved(1)
        try:
            yield
        finally:
            self._sigterm.unsaved(-1)


class _Sigterm:
    """The signal, as this process receives it, and how many blocks have something unsaved."""

    def __init__(self) -> None:
        self.came = threading.Event()
        self._blocks, self._lock = 0, threading.Lock()
        self._wakeup: int | None = None
        if "tensorflow" in sys.modules:
            self._wakeup, writes = os.pipe()
            os.set_blocking(writes, False)
            signal.set_wakeup_fd(writes, warn_on_full_buffer=False)
            self.handle()
        else:
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
        threading.Thread(target=self._wait, name="sigterm", daemon=True).start()

    def handle(self) -> None:
        """Makes SIGTERM wake the waiting thread, instead of TensorFlow's handler."""
        if self._wakeup is not None and threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, lambda number, frame: None)

    def unsaved(self, more: int) -> None:
        """A block begins, or ends."""
        with self._lock:
            self._blocks += more

    def _wait(self) -> None:
        if self._wakeup is None:
            signal.sigwait({signal.SIGTERM})
        else:
            while signal.SIGTERM not in os.read(self._wakeup, 64):
                pass
        self.came.set()
        with self._lock:
            if not self._blocks:
                os._exit(EXIT_SAVED)


_of_process = functools.cache(_Sigterm)
# A forked child does not have the thread that waits.
os.register_at_fork(after_in_child=_of_process.cache_clear)


def exit_when_saved(step: int, flush: Callable[[], object], *, is_chief: bool = True) -> NoReturn:
    """Ends the process with 75, once `flush` has the save of `step` on disk. The chief says at which step."""
    flush()
    if is_chief:
        say(stopped=step)
    sys.exit(EXIT_SAVED)
