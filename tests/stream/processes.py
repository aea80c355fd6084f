"""The library's programs of pods that read a topic, as processes."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.runtime.launching import IN_PODS


class Processes:
    """Processes that run one of the library's modules as a pod's container does."""

    def __init__(self, module: str, environment: Mapping[str, str], log: Path) -> None:
        self._module, self._log = module, log
        self._environment = {**os.environ, "PYTHONPATH": IN_PODS, **environment}

    @contextmanager
    def running(self, count: int = 1) -> Iterator[list[subprocess.Popen[bytes]]]:
        """As many processes. A test may replace those that it kills; all are killed at the end."""
        processes = [self.start() for _ in range(count)]
        try:
            yield processes
        finally:
            for process in processes:
                process.kill()
                process.wait()

    def start(self) -> subprocess.Popen[bytes]:
        """One more."""
        with self._log.open("ab") as output:
            command = [sys.executable, "-m", self._module]
            return subprocess.Popen(command, env=self._environment, stdout=output, stderr=subprocess.STDOUT)

    def said(self) -> str:
        """The end of what they said."""
        return self._log.read_text()[-3000:] if self._log.exists() else ""
