"""All models of the server: those of the flags, or those of a model config file that is read again when it changes."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from . import configuration
from .configuration import ServedModel
from .error import ServingError, not_found
from .model import Version
from .versions import Loading, Status, VersionRequest, Versions, no_servable

log = logging.getLogger("serving-stand-in")


class Models:
    """The served models by name."""

    def __init__(self, loading: Loading) -> None:
        self._loading = loading
        self._models: dict[str, Versions] = {}
        self._changing = threading.Lock()

    def get(self, requested: VersionRequest) -> Version:
        """The version that answers a request."""
        if versions := self._models.get(requested.name):
            return versions.get(requested)
        raise no_servable(requested.name, requested.number)

    def statuses(self, requested: VersionRequest) -> dict[int, Status]:
        """The state of each version of a model, the newest first."""
        if versions := self._models.get(requested.name):
            return versions.statuses(requested)
        if requested.number is not None:
            raise not_found(f"Could not find version {requested.number} of model {requested.name}")
        raise not_found(f"Could not find any versions of model {requested.name}")

    def replace(self, served: Sequence[ServedModel]) -> None:
        """Serves these models, and no others. A ServingError if labels cannot be assigned; the rest then holds."""
        with self._changing:
            names = {one.name for one in served}
            added = {one.name: Versions(one, self._loading) for one in served if one.name not in self._models}
            gone = [versions for name, versions in self._models.items() if name not in names]
            self._models = {**{name: one for name, one in self._models.items() if name in names}, **added}
            for versions in gone:
                versions.unload()
            refused: list[ServingError] = []
            for one in served:
                try:
                    self._models[one.name].change(one)
                except ServingError as error:
                    refused.append(error)
            if refused:
                raise refused[0]

    def watch(self, every_seconds: float, stop: threading.Event) -> None:
        """Looks into the models' folders at an interval; 0 looks once."""

        def look() -> None:
            for versions in list(self._models.values()):
                versions.poll()

        _repeat(look, every_seconds, stop)

    def watch_file(self, file: Path, every_seconds: float, stop: threading.Event) -> None:
        """Reads the model config file again at an interval; 0 never does."""
        read = file.read_text()

        def look() -> None:
            nonlocal read
            try:
                text = file.read_text()
                # Labels of versions that were not available are tried again.
                if text != read or self._lacks_labels():
                    self.replace(configuration.parse(text))
                    read = text
            except (OSError, ServingError) as error:
                log.error("%s: %s", file, error)

        if every_seconds:
            stop.wait(every_seconds)
            _repeat(look, every_seconds, stop)

    def _lacks_labels(self) -> bool:
        return any(not versions.has_labels for versions in self._models.values())


def _repeat(act: Callable[[], object], every_seconds: float, stop: threading.Event) -> None:
    while True:
        act()
        if not every_seconds or stop.wait(every_seconds):
            return
