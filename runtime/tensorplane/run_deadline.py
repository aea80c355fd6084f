"""The deadline of a whole run, over all restarts of its gang: `totalDeadlineSeconds` in the settings.

The run's folder records the first start. The launcher in the pod that writes the checkpoints asks the command to stop,
so that it saves, and ends the job. It only requires the standard library, because the launcher uses it after any
command.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tensorplane.checkpoints.run_folder import RunFolder

SECONDS, GRACE = "TENSORPLANE_DEADLINE", "TENSORPLANE_GRACE"
"""Variables with the deadline, and with the seconds that a command has to save."""


@dataclass(frozen=True)
class RunDeadline:
    """The deadline of a run."""

    began: float
    """The run's first start, in seconds since 1970."""
    seconds: float
    grace: float = 30

    @classmethod
    def of(cls, run: RunFolder, folder: Path, environment: Mapping[str, str] = os.environ) -> RunDeadline | None:
        """That of a run whose writer the caller is; None without one. Raises TakenOver as `RunFolder.finish`."""
        if SECONDS not in environment:
            return None
        return cls(run.began(folder), float(environment[SECONDS]), float(environment.get(GRACE, 30)))

    @property
    def passed(self) -> bool:
        """Whether the run is too late."""
        return self._left <= 0

    @property
    def reason(self) -> str:
        """Why the run ends."""
        return f"totalDeadlineSeconds, {self.seconds:.0f}, have passed since the run's first start"

    def watch(self, end: Callable[[int], None]) -> threading.Event:
        """Calls `end` with SIGTERM at the deadline and with SIGKILL after the grace period, unless the event is set."""
        done = threading.Event()

        def wait() -> None:
            for delay, number in ((max(self._left, 0), signal.SIGTERM), (self.grace, signal.SIGKILL)):
                if done.wait(delay):
                    return
                end(number)

        threading.Thread(target=wait, name="deadline", daemon=True).start()
        return done

    @property
    def _left(self) -> float:
        return self.began + self.seconds - time.time()
