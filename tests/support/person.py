"""Somebody with a folder and with nothing else of this project than the command `tensorplane`."""

from __future__ import annotations

import json
import os
import re
import secrets
import subprocess
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.support import command
from tests.support.waiting import PATIENT_SECONDS


@dataclass(frozen=True)
class Person:
    """Runs commands in the folder, and names their jobs as nobody else does."""

    folder: Path
    kubeconfig: Path | None = None
    """Of a team's member; None: of who deploys the stack."""
    start: tuple[str, ...] = ()
    """What starts the command; by default, this checkout's launcher."""
    name: str = field(default_factory=lambda: f"p{secrets.token_hex(3)}")

    def __call__(self, *words: str, code: int = 0) -> str:
        """What a command prints. It must end with this exit code."""
        return command.output(self.folder, *words, code=code, environment=self._environment, start=self.start)

    @contextmanager
    def started(self, *words: str) -> Iterator[Started]:
        """A command that runs meanwhile; killed if it is still there at the end."""
        process = subprocess.Popen(
            [*self.start, *words] if self.start else command.argv(*words),
            cwd=self.folder,
            env=self._environment,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        with process:
            try:
                yield Started(process)
            finally:
                process.kill()

    def write(self, **programs: str) -> None:
        """Programs of the folder, by their names without `.py`."""
        for name, text in programs.items():
            (self.folder / f"{name}.py").write_text(text)

    def jobs(self, *, cancelled: bool = False) -> dict[str, dict[str, Any]]:
        """The jobs of this person's name by run, without cancelled ones or those alone."""
        own = [job for job in json.loads(self("jobs", "--all", "--json")) if job["name"] == self.name]
        return {job["run"]: job for job in own if (job["state"] == "cancelled") is cancelled}

    @property
    def _environment(self) -> Mapping[str, str]:
        return {**os.environ, **({"KUBECONFIG": str(self.kubeconfig)} if self.kubeconfig else {})}


class Started:
    """A command that runs."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process, self._said = process, ""

    def until(self, *patterns: str) -> None:
        """Reads until all of these words have come."""
        with self._in_time():
            for line in self._process.stdout or ():
                self._said += line
                if all(re.search(pattern, self._said) for pattern in patterns):
                    return
        raise AssertionError(f"it has not said {patterns}\n{self._said}")

    def ended(self, code: int = 0) -> str:
        """Waits for its end; all that it has printed. It must end with this exit code."""
        with self._in_time():
            self._said += self._process.stdout.read() if self._process.stdout else ""
            assert self._process.wait() == code, self._said
        return self._said

    @contextmanager
    def _in_time(self) -> Iterator[None]:
        """Ends a command that hangs in this block."""
        timer = threading.Timer(PATIENT_SECONDS, self._process.kill)
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
