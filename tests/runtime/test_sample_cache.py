"""The cache of decoded samples: whenever workers are killed, a sample that is read is the right one."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tensorplane.data.sample_cache import SampleCache
from tests.runtime.launching import IN_PODS
from tests.support import counts
from tests.support.clock import Clock

_EXAMPLES, _BYTES = 12, 5


def _records(indices: np.ndarray) -> np.ndarray:
    return (indices[:, None] * 16 + np.arange(_BYTES)).astype(np.uint8)


def _cache(folder: Path, clock: Clock | None = None) -> SampleCache:
    return SampleCache(folder, _EXAMPLES, _BYTES, clock or Clock())


def _fill(cache: SampleCache, *wanted: int, epoch: int = 0) -> list[int]:
    """Read, and write what is missing: its indices."""
    indices = np.array(wanted)
    found, records = cache.read(indices, epoch)
    assert (records == _records(indices[found])).all()
    missing = indices[~found]
    if len(missing):
        cache.write(missing, _records(missing))
    return [int(each) for each in missing]


def _failing(number: int) -> Callable[..., int]:
    def call(*_: object) -> int:
        raise OSError(number, os.strerror(number))

    return call


_ACTIONS: st.SearchStrategy[tuple[str, list[int]]] = st.one_of(
    st.tuples(st.just("fill"), st.lists(st.integers(0, _EXAMPLES - 1), min_size=1, max_size=6, unique=True)),
    st.tuples(st.just("kill"), st.just([])),
    st.tuples(st.just("flush"), st.just([])),
    st.tuples(st.just("wait"), st.just([])),
)


@pytest.mark.counted
@settings(max_examples=counts.of(quick=20, nightly=1000))
@given(st.lists(st.tuples(st.integers(0, 2), _ACTIONS), max_size=30))
def test_workers_that_are_killed_at_any_time_read_only_right_samples(
    actions: list[tuple[int, tuple[str, list[int]]]],
) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder, clock = Path(name), Clock()
        workers = [_cache(folder, clock) for _ in range(3)]
        flushed: dict[int, float] = {}
        for worker, (action, indices) in actions:
            if action == "fill":
                missing = _fill(workers[worker], *indices)
                late = {index for index in missing if clock.now >= flushed.get(index, clock.now) + 2}
                assert not late, "what another worker has ended is found, at the latest after two seconds"
            elif action == "kill":
                workers[worker] = _cache(folder, clock)
                assert not flushed.keys() & set(_fill(workers[worker], *range(_EXAMPLES)))
            elif action == "flush":
                workers[worker].flush()
                for index in np.flatnonzero(_cache(folder)._file >= 0).tolist():
                    flushed.setdefault(index, clock.now)
            else:
                clock.now += 2


def test_a_worker_reads_what_it_has_not_ended_and_others_do_not(tmp_path: Path) -> None:
    one, other = _cache(tmp_path), _cache(tmp_path)
    assert _fill(one, 1, 2) == [1, 2]
    assert _fill(one, 2, 3) == [3]
    assert _fill(other, 1) == [1]


@pytest.mark.parametrize(("seconds", "epoch"), [(11, 0), (0, 1)])
def test_a_segment_ends_after_ten_seconds_and_with_the_epoch(tmp_path: Path, seconds: int, epoch: int) -> None:
    clock = Clock()
    one = _cache(tmp_path, clock)
    _fill(one, 1, 2)
    clock.now += seconds
    assert _fill(one, 1, epoch=epoch) == []
    assert _cache(tmp_path).missing == _EXAMPLES - 2


def test_later_segments_are_longer_so_that_there_are_few(tmp_path: Path) -> None:
    clock = Clock()
    one = SampleCache(tmp_path, 100_000, 1, clock)
    for index in range(0, 100_000, 40):
        clock.now += 20
        found, _ = one.read(np.array([index]), 0)
        assert not found.any()
        one.write(np.array([index]), np.zeros((1, 1), np.uint8))
    assert len(list(tmp_path.glob("*.segment"))) < 80, "after 14 hours"


def test_a_full_volume_is_told_once_and_training_continues(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    cache = _cache(tmp_path)
    _fill(cache, 1)

    monkeypatch.setattr(os, "pwrite", _failing(errno.ENOSPC))
    assert [_fill(cache, 1, 2), _fill(cache, 1, 2)] == [[2], [2]]
    line = f'tensorplane: cache="{tmp_path}: No space left on device; training continues and decodes what is not'
    (told,) = capsys.readouterr().out.splitlines()
    assert told.startswith(line)
    assert list(tmp_path.iterdir()) == [], "its space is free again"


def test_a_file_that_is_no_segment_of_this_cache_is_not_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "torn.segment").write_bytes(b"x" * 17)
    (tmp_path / "other.segment").write_bytes(b"\xff" * (_BYTES + 8))
    assert _cache(tmp_path).missing == _EXAMPLES
    assert capsys.readouterr().out.count("not a segment of this cache; its samples are decoded again") == 2


def test_drafts_of_workers_that_were_killed_are_removed_after_an_hour(tmp_path: Path) -> None:
    new, old = tmp_path / "new.draft", tmp_path / "old.draft"
    for path in (new, old):
        path.touch()
    os.utime(old, (time.time() - 3700,) * 2)
    paused = _cache(tmp_path)
    assert list(tmp_path.iterdir()) == [new]
    _fill(paused, 3)
    for path in tmp_path.glob("*.draft"):
        path.unlink()
    paused.flush()
    assert _fill(paused, 3) == [], "a writer that was away for so long still reads what it wrote"


def test_a_cache_that_cannot_be_read_is_told_once_and_its_samples_are_decoded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    cache = _cache(tmp_path)
    _fill(cache, 1)

    monkeypatch.setattr(os, "preadv", _failing(errno.ESTALE))
    assert [_fill(cache, 1, 2), _fill(cache, 1, 2)] == [[1, 2], [1, 2]]
    (told,) = capsys.readouterr().out.splitlines()
    assert told.startswith(f'tensorplane: cache="{tmp_path}: Stale file handle; training continues')


def test_a_process_that_ends_leaves_its_last_samples_to_others(tmp_path: Path) -> None:
    program = (
        "import sys, numpy; from pathlib import Path; from tensorplane.data.sample_cache import SampleCache;"
        f"cache = SampleCache(Path(sys.argv[1]), {_EXAMPLES}, {_BYTES});"
        f"cache.write(numpy.array([3]), numpy.zeros((1, {_BYTES}), numpy.uint8))"
    )
    environment = {**os.environ, "PYTHONPATH": IN_PODS}
    subprocess.run([sys.executable, "-c", program, str(tmp_path)], env=environment, check=True)
    assert _cache(tmp_path).missing == _EXAMPLES - 1
