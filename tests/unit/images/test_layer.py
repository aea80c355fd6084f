"""Layers are the same to the byte each time, kept by what they are made from, and leave nothing behind."""

from __future__ import annotations

import os
import tarfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

from tensorplane.core.paths import cache
from tensorplane.core.scratch import scratch
from tensorplane.core.step import Step
from tensorplane.images import wheels
from tensorplane.images.layer import Layer, Recipe, pack


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def _recipe(make: Callable[[Path, Step], None], *inputs: str) -> Recipe:
    return Recipe("thing", make, sources=("wheels.py",), inputs=inputs)


def _fill(root: Path, step: Step) -> None:
    (root / "usr").mkdir()
    (root / "usr/program").write_text("run")
    (root / "usr/program").chmod(0o711)
    (root / "link").symlink_to("usr/program")
    (root / "tmp").mkdir()
    (root / "tmp").chmod(0o1777)


def _entries(path: Path) -> list[tarfile.TarInfo]:
    with (
        path.open("rb") as file,
        zstandard.ZstdDecompressor().stream_reader(file) as data,
        tarfile.open(fileobj=data, mode="r|") as archive,
    ):
        return list(archive)


def test_a_layer_depends_on_content_alone(tmp_path: Path) -> None:
    digests = set()
    for number, umask in enumerate((0o022, 0o077)):
        root = tmp_path / str(number)
        root.mkdir()
        previous = os.umask(umask)
        try:
            _fill(root, Step("test"))
            (root / "plain").write_text("data")
        finally:
            os.umask(previous)
        os.utime(root / "usr/program", (number, number))
        digests.add(pack(root, tmp_path / f"{number}.tar"))
    assert len(digests) == 1


def test_files_belong_to_root_have_no_time_and_plain_modes() -> None:
    layer = _recipe(_fill).layer(Step("test"))
    entries = {entry.name: entry for entry in _entries(layer.path)}
    assert sorted(entries) == list(entries) == ["link", "tmp", "usr", "usr/program"]
    assert {(entry.uid, entry.gid, entry.mtime) for entry in entries.values()} == {(0, 0, 0)}
    assert [oct(entries[name].mode) for name in ("tmp", "usr", "usr/program")] == ["0o1777", "0o755", "0o755"]
    assert entries["link"].linkname == "usr/program"


def test_a_layer_is_built_once_and_again_for_another_input(tmp_path: Path) -> None:
    made: list[str] = []

    def make(root: Path, step: Step) -> None:
        made.append("made")
        _fill(root, step)

    first = _recipe(make, "1").layer(Step("test"))
    assert _recipe(make, "1").layer(Step("test")) == first
    assert made == ["made"]
    assert _recipe(make, "2").cached() is None
    second = _recipe(make, "2").layer(Step("test"))
    assert second.digest == first.digest, "the same content"
    assert first.path.exists(), "another checkout may need it today"
    _last_used_two_days_ago(first.path, second.path)
    assert _recipe(make, "2").cached() == second, "that is a use"
    third = _recipe(make, "3").layer(Step("test"))
    assert {path.name for path in (cache() / "layers").iterdir()} == {second.path.name, third.path.name}


def _last_used_two_days_ago(*paths: Path) -> None:
    at = time.time() - 2 * 24 * 3600
    for path in paths:
        os.utime(path, (at, at))


def test_a_layer_can_be_unpacked_again(tmp_path: Path) -> None:
    layer = _recipe(_fill).layer(Step("test"))
    layer.extract(tmp_path / "out")
    assert (tmp_path / "out/link").read_text() == "run"


def test_a_failed_layer_leaves_nothing() -> None:
    def fail(root: Path, step: Step) -> None:
        _fill(root, step)
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        _recipe(fail).layer(Step("test"))
    assert [path for path in cache().rglob("*") if path.is_file()] == []
    assert list((cache() / "scratch").iterdir()) == []


def test_what_a_killed_run_left_is_swept_and_what_is_in_use_is_not() -> None:
    with scratch("mine") as mine:
        (cache() / "scratch" / "killed-xyz" / "root").mkdir(parents=True)
        with scratch("next") as following:
            assert sorted(path.name for path in (cache() / "scratch").iterdir()) == sorted([mine.name, following.name])
    assert list((cache() / "scratch").iterdir()) == []


def test_a_device_has_no_place_in_a_layer(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ValueError, match="pipe: neither a file"):
        pack(tmp_path, tmp_path.parent / "out.tar")


def test_digests_are_read_off_the_name() -> None:
    layer = Layer(Path("a-name-0123456789abcdef-aaaa-bbbb.tar.zst"))
    assert (layer.diff_id, layer.digest) == ("aaaa", "bbbb")


def test_a_stripped_library_still_loads_and_other_files_stay(tmp_path: Path) -> None:
    import _ctypes
    import ctypes
    import shutil

    library = tmp_path / "library.so"
    shutil.copyfile(_ctypes.__file__, library)
    before = library.stat().st_size
    dropped = wheels.strip_symbols(library)
    assert dropped > 0
    assert library.stat().st_size == before - dropped
    assert ctypes.CDLL(str(library)).PyInit__ctypes
    assert wheels.strip_symbols(library) == 0, "nothing more to drop"

    script = tmp_path / "libc.so"
    script.write_text("GROUP ( libc.so.6 )")
    assert wheels.strip_symbols(script) == 0
    assert script.read_text() == "GROUP ( libc.so.6 )"
