"""What both APIs answer with: the models, their batches and their metrics, as the flags say."""

from __future__ import annotations

import logging
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from . import configuration, flags, monitoring, warmup
from .batching import Batches, Parameters
from .configuration import ServedModel
from .error import ServingError, invalid_argument
from .model import Version
from .models import Models
from .monitoring import Metrics
from .versions import Loading

log = logging.getLogger("serving-stand-in")


@dataclass(frozen=True)
class Serving:
    """The state of the server."""

    models: Models
    metrics: Metrics
    metrics_path: str
    """Of the metrics on the REST port; empty: none."""

    @classmethod
    def of(cls, parsed: flags.Flags) -> Serving:
        """As the flags say, with no model yet. A ServingError for a file that is wrong."""
        metrics = Metrics()
        batches = Batches(_parameters(parsed)) if parsed.enable_batching else None
        path = monitoring.path_of(parsed.monitoring_config_file) if parsed.monitoring_config_file else ""

        def load(name: str, folder: Path, number: int) -> Version:
            try:
                version = Version(folder, number, batches)
            except Exception:
                metrics.loaded(folder, ok=False)
                raise
            metrics.loaded(folder, ok=True)
            if parsed.enable_model_warmup:
                began = time.monotonic()
                count = warmup.run(version, folder)
                if count:
                    log.info("warmed %s version %d up with %d requests", name, number, count)
                    metrics.warmed(folder, time.monotonic() - began)
            return version

        loading = Loading(
            load,
            retries=parsed.max_num_load_retries,
            retry_seconds=parsed.load_retry_interval_micros / 1e6,
            early_labels=parsed.allow_version_labels_for_unavailable_models,
        )
        return cls(Models(loading), metrics, path)

    def begin(self, parsed: flags.Flags, stop: threading.Event) -> None:
        """Loads the models, and follows their folders and the model config file."""
        if file := parsed.model_config_file:
            try:
                served = configuration.parse(file.read_text())
            except OSError as error:
                raise invalid_argument(f"{file}: {error.strerror}") from error
        else:
            served = [ServedModel(parsed.model_name, parsed.model_base_path)]

        def follow() -> None:
            try:
                self.models.replace(served)
            except ServingError as error:
                log.error("%s", error.message)
            if file:
                every = parsed.model_config_file_poll_wait_seconds
                threading.Thread(target=self.models.watch_file, args=(file, every, stop), daemon=True).start()
            self.models.watch(parsed.file_system_poll_wait_seconds, stop)

        threading.Thread(target=follow, name="watch", daemon=True).start()


def _parameters(parsed: flags.Flags) -> Parameters:
    return Parameters.read(parsed.batching_parameters_file) if parsed.batching_parameters_file else Parameters()
