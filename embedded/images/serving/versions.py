"""The served version: the newest in the model's folder, swapped so that one always answers."""

from __future__ import annotations

import enum
import logging
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from .model import Version
from .refusal import not_found

log = logging.getLogger("serving-stand-in")
_LARGEST = 2**63 - 1


class State(enum.Enum):
    """Life of a version, as get_model_status.proto counts it."""

    START = 10
    LOADING = 20
    AVAILABLE = 30
    UNLOADING = 40
    END = 50


@dataclass(frozen=True)
class Status:
    """State of one version, and why it failed if it did."""

    state: State
    error: str = ""


class Versions:
    """The versions of one model. TF Serving's default policy: the newest is loaded before the former is unloaded."""

    def __init__(self, name: str, folder: Path, *, retries: int, retry_seconds: float) -> None:
        self.name, self._folder = name, folder
        self._retries, self._retry_seconds = retries, retry_seconds
        self._serving: Version | None = None
        self._statuses: dict[int, Status] = {}
        self._failures: dict[int, tuple[int, float]] = {}

    def get(self, name: str, number: int | None = None) -> Version:
        """The version that answers a request. A request may finish with it after a swap."""
        serving = self._serving
        if name == self.name and serving is not None and number in (None, serving.number):
            return serving
        wanted = f"Latest({name})" if number is None else f"Specific({name}, {number})"
        raise not_found(f"Servable not found for request: {wanted}")

    def statuses(self, name: str, number: int | None = None) -> dict[int, Status]:
        """The state of each version, the newest first."""
        known = dict(self._statuses) if name == self.name else {}
        if number is not None:
            if number not in known:
                raise not_found(f"Could not find version {number} of model {name}")
            return {number: known[number]}
        if not known:
            raise not_found(f"Could not find any versions of model {name}")
        return dict(sorted(known.items(), reverse=True))

    def watch(self, every_seconds: int, stop: threading.Event) -> None:
        """Checks the folder now and then at an interval; 0 checks once."""
        while True:
            self.poll()
            if not every_seconds or stop.wait(every_seconds):
                return

    def poll(self) -> None:
        """Loads and unloads versions according to the folder."""
        try:
            found = _numbered(self._folder)
        except OSError as error:
            # A volume that is unavailable for a moment does not unload the model.
            log.warning("cannot read %s: %s", self._folder, error.strerror)
            return
        newest = max(found, default=None)
        old = self._serving
        if newest == (old.number if old else None):
            return
        if newest is not None:
            loaded = self._load(newest, found[newest])
            if loaded is None:
                return
            self._serving = loaded
            self._statuses[newest] = Status(State.AVAILABLE)
            log.info("serving %s version %d", self.name, newest)
        else:
            self._serving = None
        if old is not None:
            self._statuses[old.number] = Status(State.END)
            log.info("no longer serving %s version %d", self.name, old.number)

    def _load(self, number: int, folder: Path) -> Version | None:
        failures, last = self._failures.get(number, (0, 0.0))
        if failures > self._retries or (failures and time.monotonic() - last < self._retry_seconds):
            return None
        self._statuses[number] = Status(State.LOADING)
        try:
            return Version(folder, number)
        except Exception as error:  # TensorFlow may raise anything for a broken model; only that version fails
            self._failures[number] = (failures + 1, time.monotonic())
            self._statuses[number] = Status(State.END, f"{type(error).__name__}: {error}")
            log.error("cannot load %s version %d: %s", self.name, number, error)
            return None


def _numbered(folder: Path) -> dict[int, Path]:
    """Versions by number. A name may begin with zeros: file_system_storage_path_source.cc reads `00000123` as 123."""
    named = [path for path in sorted(folder.iterdir()) if path.name.isascii() and path.name.isdecimal()]
    return {number: path for path in named if (number := int(path.name)) <= _LARGEST and path.is_dir()}
