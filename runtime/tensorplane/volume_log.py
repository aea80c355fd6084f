"""Copies what a pod's command prints to the volume of the job's checkpoints: Kubernetes deletes logs with their pods.

    checkpoints/logs/digits-1a2b3c4d/worker-0.1.log        of worker 0 since the first start of its pod's command
    checkpoints/logs/digits-1a2b3c4d/worker-0.1.log.old    what came before, once the file has become large

A volume that is slow, full or gone must not stop the training: what it does not take in time is left out.

It only requires the standard library, because the launcher uses it.
"""

from __future__ import annotations

import contextlib
import os
import queue
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO

from tensorplane.checkpoints.run_folder import RUN

FOLDER = "logs"
"""Beside the runs' folders."""
SUCCEEDED = b"tensorplane: succeeded\n"
"""Last line of the log of the pod that writes the checkpoints, once the run has finished and done what follows: a sweep
sees it seconds before the JobSet is completed."""
_MOST_BYTES = 16 * 2**20
"""Size at which a file is set aside; with the one before, a start keeps at most twice this."""
_WAITING = 256
"""Chunks that wait for the volume."""
_CLOSE_SECONDS = 5.0
_STARTS = 10_000


class VolumeLog:
    """The log of one start of a pod's command."""

    def __init__(self, path: Path | None) -> None:
        """`path`: the file; None keeps nothing."""
        self._path = path
        self._chunks: queue.Queue[bytes | None] = queue.Queue(_WAITING)
        self._thread = threading.Thread(target=self._keep, daemon=True)
        self._thread.start()

    @classmethod
    def of_pod(cls, environment: Mapping[str, str] = os.environ) -> VolumeLog:
        """The log of this pod; without checkpoints, nothing is kept."""
        if RUN not in environment:
            return cls(None)
        run = Path(environment[RUN])
        role, index = environment.get("TF_JOB_NAME", "worker"), environment.get("JOB_COMPLETION_INDEX", "0")
        return cls(_new(run.parent / FOLDER / run.name, f"{role}-{index}"))

    def write(self, chunk: bytes) -> None:
        """Keeps this, unless the volume is behind."""
        with contextlib.suppress(queue.Full):
            self._chunks.put_nowait(chunk)

    def close(self) -> None:
        """Waits for the volume, for some seconds."""
        with contextlib.suppress(queue.Full):
            self._chunks.put(None, timeout=_CLOSE_SECONDS)
        self._thread.join(_CLOSE_SECONDS)

    def _keep(self) -> None:
        with contextlib.suppress(OSError), contextlib.ExitStack() as files:
            file, size = self._opened(files), 0
            while (chunk := self._chunks.get()) is not None:
                if file is None:
                    continue
                if size >= _MOST_BYTES:
                    file.close()
                    file, size = self._set_aside(files), 0
                file.write(chunk)
                size += len(chunk)
            return
        # The volume refuses: what comes is taken and dropped, so that `close` does not wait.
        while self._chunks.get() is not None:
            pass

    def _opened(self, files: contextlib.ExitStack) -> BinaryIO | None:
        return files.enter_context(self._path.open("ab", buffering=0)) if self._path else None

    def _set_aside(self, files: contextlib.ExitStack) -> BinaryIO:
        assert self._path  # noqa: S101
        self._path.replace(self._path.with_name(f"{self._path.name}.old"))
        return files.enter_context(self._path.open("ab", buffering=0))


def _new(folder: Path, name: str) -> Path | None:
    """A file that no start before has; None if the volume refuses."""
    with contextlib.suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        for start in range(1, _STARTS):
            path = folder / f"{name}.{start}.log"
            with contextlib.suppress(FileExistsError):
                path.open("xb").close()
                return path
    return None
