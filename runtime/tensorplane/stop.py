"""SIGTERM as a request: training saves at the next step that all workers share, and exits with a code of its own."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

EXIT_SAVED = 75
"""Exit code of a run that was asked to stop and can go on from its checkpoint: EX_TEMPFAIL of sysexits.h."""


class StopRequest:
    """Whether SIGTERM came. Make one before TensorFlow is imported, so that all of its threads leave the signal alone.

    While nothing is unsaved, SIGTERM ends the process at once. A thread of its own waits for it: a handler would have
    to wait until the call into TensorFlow returns, and TensorFlow puts its own handler in place when workers meet.
    TensorFlow holds the interpreter while it waits for the other workers, so there SIGTERM has to wait, or SIGKILL
    comes first; nothing is lost by that.
    """

    def __init__(self) -> None:
        self._came = threading.Event()
        self._unsaved = threading.Event()
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
        threading.Thread(target=self._wait, name="sigterm", daemon=True).start()

    @property
    def came(self) -> bool:
        return self._came.is_set()

    @contextmanager
    def deferred(self) -> Iterator[None]:
        """The block looks at `came` itself, and saves."""
        self._unsaved.set()
        try:
            yield
        finally:
            self._unsaved.clear()

    def _wait(self) -> None:
        signal.sigwait({signal.SIGTERM})
        self._came.set()
        if not self._unsaved.is_set():
            os._exit(EXIT_SAVED)
