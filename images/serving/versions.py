"""The served versions of one model, swapped so that one always answers."""

from __future__ import annotations

import enum
import logging
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from .configuration import ServedModel
from .error import ServingError, failed_precondition, invalid_argument, not_found
from .model import Version

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


@dataclass(frozen=True)
class VersionRequest:
    """The version that a request names: by its number, by a label, or neither, for the newest."""

    name: str
    number: int | None = None
    label: str = ""


@dataclass(frozen=True)
class Loading:
    """How versions are loaded."""

    load: Callable[[str, Path, int], Version]
    """From a model's name, a version's folder and its number."""
    retries: int
    retry_seconds: float
    early_labels: bool = False
    """Whether a new label may name a version that is not available yet."""


class Versions:
    """The versions of one model. As TF Serving's default policy has it, new ones are loaded before old ones go."""

    def __init__(self, served: ServedModel, loading: Loading) -> None:
        self.served = served
        self._loading = loading
        self._serving: Mapping[int, Version] = {}
        self._labels: dict[str, int] = {}
        self._statuses: dict[int, Status] = {}
        self._failures: dict[int, tuple[int, float]] = {}
        self._polling = threading.Lock()

    def get(self, requested: VersionRequest) -> Version:
        """The version that answers a request. A request may finish with it after a swap."""
        serving, number = self._serving, self._number(requested)
        if number is None:
            number = max(serving, default=None)
        if number is not None and number in serving:
            return serving[number]
        raise no_servable(requested.name, self._number(requested))

    def statuses(self, requested: VersionRequest) -> dict[int, Status]:
        """The state of each version, the newest first."""
        known, number = dict(self._statuses), self._number(requested)
        if number is not None:
            if number not in known:
                raise not_found(f"Could not find version {number} of model {requested.name}")
            return {number: known[number]}
        if not known:
            raise not_found(f"Could not find any versions of model {requested.name}")
        return dict(sorted(known.items(), reverse=True))

    def _number(self, requested: VersionRequest) -> int | None:
        if not requested.label:
            return requested.number
        if requested.label not in self._labels:
            raise invalid_argument(f"Unrecognized servable version label: {requested.label}")
        return self._labels[requested.label]

    def change(self, served: ServedModel) -> None:
        """Serves other versions, or the same with other labels. ServingError if a label's version is not available."""
        self.served = served
        self.poll()
        self._label(served.labels)

    @property
    def has_labels(self) -> bool:
        """Whether the labels are those of the settings."""
        return self._labels == self.served.labels

    def _label(self, labels: Mapping[str, int]) -> None:
        """Labels move to available versions only, so that no client's label stops answering."""
        for label, number in labels.items():
            early = self._loading.early_labels and label not in self._labels
            if number not in self._serving and not early:
                raise failed_precondition(
                    f"Request to assign label to version {number} of model {self.served.name}, "
                    "which is not currently available for inference"
                )
        self._labels = dict(labels)

    def poll(self) -> None:
        """Loads and unloads versions according to the folder and the policy."""
        with self._polling:
            self._poll()

    def _poll(self) -> None:
        try:
            found = _numbered(self.served.folder)
        except OSError as error:
            # A volume that is unavailable for a moment does not unload the model.
            log.warning("cannot read %s: %s", self.served.folder, error.strerror)
            return
        chosen = self.served.policy.choose(found)
        if chosen == sorted(self._serving):
            return
        loaded = {
            number: version
            for number in chosen
            if (version := self._serving.get(number) or self._load(number, found[number]))
        }
        # The old versions stay while none of the new ones loads.
        if chosen and not loaded:
            return
        gone, self._serving = set(self._serving) - set(loaded), loaded
        for number in gone:
            self._statuses[number] = Status(State.END)
            log.info("no longer serving %s version %d", self.served.name, number)

    def unload(self) -> None:
        """Serves nothing more."""
        with self._polling:
            for number in self._serving:
                self._statuses[number] = Status(State.END)
            self._serving = {}

    def _load(self, number: int, folder: Path) -> Version | None:
        failures, last = self._failures.get(number, (0, 0.0))
        if failures > self._loading.retries or (failures and time.monotonic() - last < self._loading.retry_seconds):
            return None
        self._statuses[number] = Status(State.LOADING)
        try:
            version = self._loading.load(self.served.name, folder, number)
        except Exception as error:  # TensorFlow may raise anything for a broken model; only that version fails
            self._failures[number] = (failures + 1, time.monotonic())
            self._statuses[number] = Status(State.END, f"{type(error).__name__}: {error}")
            log.error("cannot load %s version %d: %s", self.served.name, number, error)
            return None
        self._statuses[number] = Status(State.AVAILABLE)
        log.info("serving %s version %d", self.served.name, number)
        return version


def no_servable(name: str, number: int | None) -> ServingError:
    """No such model, or no such version of it."""
    requested = f"Latest({name})" if number is None else f"Specific({name}, {number})"
    return not_found(f"Servable not found for request: {requested}")


def _numbered(folder: Path) -> dict[int, Path]:
    """Versions by number. A name may begin with zeros: file_system_storage_path_source.cc reads `00000123` as 123."""
    folders = [path for path in sorted(folder.iterdir()) if path.name.isascii() and path.name.isdecimal()]
    return {number: path for path in folders if (number := int(path.name)) <= _LARGEST and path.is_dir()}
