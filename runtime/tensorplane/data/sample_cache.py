"""A cache of decoded samples in a folder that all workers see, for random access by the example's index.

The samples of training data are decoded in a random order, in parts by each worker, and read in another order in the
next epoch. So each worker appends the samples that it decodes to a segment of its own, and all read all segments:

    cache/4f1c9a/                 the samples of one way to decode one list of examples: a fingerprint of both
    cache/4f1c9a/<uuid>.segment   records of equal size, then the example's index of each: complete, never changed
    cache/4f1c9a/<uuid>.draft     a segment that a worker still writes

A segment appears by a rename after its content is on disk, so a killed worker leaves no half one. Its samples are
decoded again. It only requires NumPy.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import threading
import time
import uuid
from collections.abc import Callable
from pathlib import Path

import numpy as np

from tensorplane.errors import TensorplaneError
from tensorplane.log import say

_SEGMENT_BYTES = 1 << 30
_FIRST_SECONDS, _SHARE = 10.0, 0.1
"""A draft becomes a segment after 10 s, later after a tenth of the time since the start: few files, little lost."""
_LOOK_SECONDS = 1.0
_ABANDONED_SECONDS = 3600.0
_INDEX = np.dtype("<i8")


class SampleCache:
    """Records of equal size by the index of their example. Threads of one process may share it."""

    def __init__(
        self, folder: Path, examples: int, record_bytes: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Raises OSError if the folder cannot be written."""
        self._folder, self._size, self._clock = folder, record_bytes, clock
        # For each example, the file that has it, and where. File -1: no file.
        self._file = np.full(examples, -1, np.int32)
        self._row = np.zeros(examples, np.int64)
        self._files: list[int] = []
        self._known: set[str] = set()
        self._draft: _Draft | None = None
        self._failed = False
        self._epoch = 0
        self._lock = threading.Lock()
        self._began, self._looked = clock(), -_LOOK_SECONDS
        folder.mkdir(parents=True, exist_ok=True)
        _remove_abandoned(folder)
        self._look()
        # The last samples that this process decodes, which no later read publishes.
        atexit.register(self._end)

    @property
    def missing(self) -> int:
        """Number of examples without a sample, as far as this process knows."""
        return int(np.count_nonzero(self._file < 0))

    def read(self, indices: np.ndarray, epoch: int) -> tuple[np.ndarray, np.ndarray]:
        """Which of the samples are there, and the records of those.

        With the first read of a later `epoch`, this worker has decoded its part: the draft becomes a segment. After a
        failure, which one line reports, no sample is there.
        """
        try:
            return self._read(indices, epoch)
        except OSError as error:
            with self._lock:
                self._file[:] = -1
                if not self._failed:
                    self._fail(error)
            return np.zeros(len(indices), bool), np.empty((0, self._size), np.uint8)

    def _read(self, indices: np.ndarray, epoch: int) -> tuple[np.ndarray, np.ndarray]:
        with self._lock:
            self._end_draft(epoch)
            late = self._clock() - self._looked >= _LOOK_SECONDS
            if late and not self._failed and np.any(self._file[indices] < 0):
                self._look()
            files, rows = self._file[indices], self._row[indices]
            handles = [self._files[file] if file >= 0 else -1 for file in files.tolist()]
        there = [at for at in zip(handles, rows.tolist(), strict=True) if at[0] >= 0]
        records = np.empty((len(there), self._size), np.uint8)
        for record, (handle, row) in zip(records, there, strict=True):
            _read(handle, record, row * self._size)
        return files >= 0, records

    def write(self, indices: np.ndarray, records: np.ndarray) -> int:
        """Adds decoded samples that were missing. Returns their number: 0 after a failure, which one line reports."""
        if self._failed:
            return 0
        with self._lock:
            try:
                if self._draft is None:
                    self._draft = _Draft(self._folder, self._size, self._clock())
                    self._files.append(self._draft.handle)
                    self._known.add(self._draft.name)
                first = self._draft.append(indices, records)
            except OSError as error:
                self._fail(error)
                return 0
            self._file[indices] = len(self._files) - 1
            self._row[indices] = first + np.arange(len(indices))
            return len(indices)

    def flush(self) -> None:
        """Makes what this process has written visible to others."""
        with self._lock:
            self._publish()

    def _end(self) -> None:
        # Nobody trains any more whom a failure would concern.
        with self._lock, contextlib.suppress(OSError):
            if self._draft:
                self._draft.publish()
                self._draft = None

    def _end_draft(self, epoch: int) -> None:
        later, self._epoch = epoch > self._epoch, max(epoch, self._epoch)
        if self._draft is None:
            return
        now = self._clock()
        old = now - self._draft.began >= max(_FIRST_SECONDS, _SHARE * (now - self._began))
        if old or later or self._draft.bytes >= _SEGMENT_BYTES:
            self._publish()

    def _publish(self) -> None:
        if self._draft:
            try:
                self._draft.publish()
                self._draft = None
            except OSError as error:
                self._fail(error)

    def _fail(self, error: OSError) -> None:
        """The cache only saves time: without it, training continues."""
        if self._draft:
            self._draft.discard()
        self._failed, self._draft = True, None
        say(cache=f"{self._folder}: {error.strerror or error}; training continues and decodes what is not in the cache")

    def _look(self) -> None:
        """Finds the segments that were added."""
        self._looked = self._clock()
        with os.scandir(self._folder) as entries:
            names = sorted(entry.name for entry in entries if entry.name.endswith(".segment"))
        for name in names:
            key = name.removesuffix(".segment")
            if key not in self._known:
                self._known.add(key)
                self._open(self._folder / name)

    def _open(self, path: Path) -> None:
        try:
            handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return
        count, rest = divmod(os.fstat(handle).st_size, self._size + _INDEX.itemsize)
        indices = np.zeros(count, _INDEX)
        _read(handle, indices.view(np.uint8), count * self._size)
        if rest or not ((indices >= 0) & (indices < len(self._file))).all():
            os.close(handle)
            say(cache=f"{path}: not a segment of this cache; its samples are decoded again")
            return
        self._files.append(handle)
        self._file[indices] = len(self._files) - 1
        self._row[indices] = np.arange(count)


class _Draft:
    """A segment that this process writes, and from which it already reads."""

    def __init__(self, folder: Path, size: int, now: float) -> None:
        self.name, self.began, self.bytes = uuid.uuid4().hex, now, 0
        self._size = size
        self._path = folder / f"{self.name}.draft"
        self._indices: list[np.ndarray] = []
        self.handle = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)

    def append(self, indices: np.ndarray, records: np.ndarray) -> int:
        """The row of the first record."""
        first = self.bytes // self._size
        _write(self.handle, records, self.bytes)
        self._indices.append(indices.astype(_INDEX))
        self.bytes += records.nbytes
        return first

    def publish(self) -> None:
        """Makes it a segment."""
        _write(self.handle, np.concatenate(self._indices), self.bytes)
        os.fsync(self.handle)
        self._path.rename(self._path.with_suffix(".segment"))

    def discard(self) -> None:
        """Frees its space. This process still reads from it what it has written."""
        with contextlib.suppress(OSError):
            self._path.unlink()


def _remove_abandoned(folder: Path) -> None:
    """Deletes drafts to which nobody has written for long. Their writers, if they live, lose what they decoded."""
    for path in folder.glob("*.draft"):
        with contextlib.suppress(FileNotFoundError):
            if time.time() - path.stat().st_mtime > _ABANDONED_SECONDS:
                path.unlink()


class DamagedCache(TensorplaneError, OSError):
    """A file of the cache is shorter than what was written to it."""


def _read(handle: int, into: np.ndarray, offset: int) -> None:
    view = into.data
    while view:
        if not (count := os.preadv(handle, [view], offset)):
            raise DamagedCache(f"a segment of the cache is shorter than its index says, at byte {offset}")
        view, offset = view[count:], offset + count


def _write(handle: int, content: np.ndarray, offset: int) -> None:
    view = np.ascontiguousarray(content).data.cast("B")
    while view:
        count = os.pwrite(handle, view, offset)
        view, offset = view[count:], offset + count
