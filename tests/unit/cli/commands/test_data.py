"""`tensorplane data`: files to and from a dataset and its history; the pod's program runs on this machine."""

from __future__ import annotations

import errno
import io
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

import pytest
from rich.console import Console

from tensorplane import stack
from tensorplane.cli.commands.cp.paths import VolumePath
from tensorplane.cli.commands.data import history, remote, transfer
from tensorplane.cli.commands.data.remote import DatasetOptions, Remote
from tensorplane.components.base.settings import Settings
from tensorplane.components.datasets.settings import DatasetArgs
from tensorplane.core.errors import UserError
from tensorplane.datasets import Dataset, retention
from tensorplane.datasets import __main__ as program
from tensorplane.datasets.errors import Refused

_SETTINGS = {
    "volumes": {"data": {"sizeGib": 1}, "bucket": {"sizeGib": 1}},
    "datasets": {"digits": {"volume": "data"}},
}
_QUESTION = DatasetOptions("digits", "", "dev", "", "default")
_ABOUT: dict[str, Any] = {"branch": "main", "message": "m", "author": "ann", "at": "", "add": False}


class _Here:
    """`exec_stream.Exec` for a process of this machine, with what the pod has: the library in a variable."""

    def __init__(self, _: object, __: str, command: Sequence[str]) -> None:
        env = {"TENSORPLANE_DATASETS": remote.library()}
        argv = [sys.executable, *command[1:]]
        self._process = subprocess.Popen(
            argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env
        )

    def write(self, data: bytes) -> int:
        assert self._process.stdin
        return self._process.stdin.write(data)

    def read(self, size: int) -> bytes:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.flush()
        return self._process.stdout.read(size)

    def finish(self) -> bytes:
        out, errors = self._process.communicate()
        if self._process.returncode:
            raise UserError(*errors.decode().strip().splitlines())
        return out


class _Quick:
    """The same in a thread, without the time that Python takes to start."""

    def __init__(self, _: object, __: str, command: Sequence[str]) -> None:
        verb, root = command[-2:]
        (asked, self._in), (self._out, told) = _pipe(), _pipe()

        def answer() -> None:
            with asked, told:
                program.main(verb, root, asked, told)

        self._pool = ThreadPoolExecutor(1)
        self._ended = self._pool.submit(answer)

    def write(self, data: bytes) -> int:
        return self._in.write(data)

    def read(self, size: int) -> bytes:
        self._in.flush()
        return self._out.read(size)

    def finish(self) -> bytes:
        self._in.close()
        with self._pool, self._out:
            out = self._out.read()
            try:
                self._ended.result()
            except Refused as error:
                raise UserError(*str(error).splitlines()) from None
        return out


def _pipe() -> tuple[BinaryIO, BinaryIO]:
    end, begin = os.pipe()
    return os.fdopen(end, "rb"), os.fdopen(begin, "wb")


@pytest.fixture
def dataset_in_a_pod(dataset: Remote, monkeypatch: pytest.MonkeyPatch) -> Remote:
    monkeypatch.setattr(remote, "Exec", _Here)
    return dataset


@pytest.fixture
def dataset(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Remote:
    monkeypatch.setattr(remote, "Exec", _Quick)
    return Remote(None, "", str(tmp_path / "volume" / "datasets" / "digits"), DatasetArgs(volume="data"))  # type: ignore[arg-type]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "raw"
    (made / "a").mkdir(parents=True)
    (made / "a" / "0").write_text("zero")
    (made / "1").write_bytes(os.urandom(3 << 20))
    (made / "1").chmod(0o755)
    return made


def _put(dataset: Remote, source: Path | VolumePath, capsys: pytest.CaptureFixture[str], **about: Any) -> str:
    transfer.commit(dataset, _QUESTION, source, {**_ABOUT, **about}, Console())
    return capsys.readouterr().out


def test_a_folder_goes_to_a_dataset_and_a_version_comes_back(
    dataset_in_a_pod: Remote, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dataset = dataset_in_a_pod
    first = _put(dataset, folder, capsys)
    assert "2 files: 2 added, 0 changed, 0 removed; 3 MiB sent" in first
    (folder / "a" / "0").write_text("one")
    assert "0 added, 1 changed, 0 removed; 3 B sent" in _put(dataset, folder, capsys)
    transfer.checkout(dataset, _QUESTION, tmp_path / "back", Console())
    assert "2 files of digits@" in capsys.readouterr().out
    assert (tmp_path / "back" / "1").read_bytes() == (folder / "1").read_bytes()
    assert (tmp_path / "back" / "1").stat().st_mode & 0o100
    (tmp_path / "back" / "a" / "0").write_text("changed here")
    transfer.checkout(dataset, DatasetOptions("digits", "main~1", "dev", "", "default"), tmp_path / "back", Console())
    assert "1 file of digits@" in (said := capsys.readouterr().out)
    assert "1 file unchanged" in said
    assert (tmp_path / "back" / "a" / "0").read_text() == "zero"


def test_a_part_of_a_dataset_is_replaced_or_added_to(
    dataset: Remote, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _put(dataset, folder, capsys)
    more = tmp_path / "more"
    more.mkdir()
    (more / "2").write_text("two")
    assert "1 added, 0 changed, 1 removed" in _put(dataset, more, capsys, at="a")
    assert "1 added, 0 changed, 0 removed" in _put(dataset, more, capsys, add=True)
    assert sorted(Dataset(dataset.root).files()) == ["1", "2", "a/2"]


def test_a_folder_of_another_volume_is_committed_in_the_pod(
    dataset: Remote, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(remote, "SOURCES", str(folder.parent))
    assert "2 added" in _put(dataset, VolumePath("raw", ""), capsys)
    with pytest.raises(UserError, match="--at and --add are for folders of this machine"):
        _put(dataset, VolumePath("raw", ""), capsys, add=True)


def test_all_faults_of_a_table_are_shown(dataset: Remote, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = {"columns": {"x": "float32"}}
    args = DatasetArgs.model_validate({"volume": "data", "table": table})
    with pytest.raises(UserError) as caught:
        _put(Remote(dataset.api, "", dataset.root, args), folder, capsys)
    assert caught.value.lines == (
        "'1': is no Parquet file; a table holds Parquet files",
        "'a/0': is not where the table's partitions put it; name it FILE.parquet",
        "'a/0': is no Parquet file; a table holds Parquet files",
    )


def test_history_as_people_read_it(dataset: Remote, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _put(dataset, folder, capsys)
    (folder / "1").unlink()
    (folder / "2").write_text("two")
    _put(dataset, folder, capsys, message="second")
    console = Console(width=140)
    console.print(history.commits(dataset.ask("log", {})))
    heading, newest, first, *_ = capsys.readouterr().out.splitlines()
    assert heading.split() == [
        "commit",
        "version",
        "names",
        "time",
        "(UTC)",
        "author",
        "files",
        "size",
        "changes",
        "message",
    ]
    assert "main" in newest
    assert "+1 -1" in newest
    assert "second" in newest
    assert "+2" in first
    assert history.lines(dataset.ask("diff", {"before": "main~1"})) == ["- 1 (3 MiB)", "+ 2 (3 B)"]
    assert history.lines([]) == ["no file differs"]


def test_the_files_of_a_version_are_listed_with_their_sizes(
    dataset: Remote, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    _put(dataset, folder, capsys)
    (folder / "2").write_text("two")
    _put(dataset, folder, capsys)
    monkeypatch.setattr(remote, "opened", lambda *_, **__: nullcontext(dataset))

    def listed(reference: str, pattern: str = "*", *, as_json: bool = False) -> str:
        history.files(replace(_QUESTION, reference=reference), pattern, as_json=as_json)
        return capsys.readouterr().out

    assert listed("").splitlines() == ["3 MiB  1", "  3 B  2", "  4 B  a/0", "3 files, 3 MiB"]
    assert listed("main~1", "a/*").splitlines() == ["4 B  a/0", "1 file, 4 B"]
    assert listed("", "?") == "3 MiB  1\n  3 B  2\n2 files, 3 MiB\n"
    assert listed("", "b*") == "0 files, 0 B\n"
    assert list(json.loads(listed("", as_json=True))) == ["1", "2", "a/0"]


@pytest.mark.parametrize(
    ("name", "fault"),
    [("digit", r"digit: no dataset has this name; choose one of digits \(did you mean digits\?\)")],
)
def test_an_unknown_dataset_names_those_there_are(name: str, fault: str) -> None:
    with pytest.raises(UserError, match=fault):
        remote.declared(stack.load(Settings(_SETTINGS)), name)


def test_the_library_that_a_pod_gets_is_small_and_always_the_same() -> None:
    assert remote.library() == remote.library()
    assert len(remote.library()) < 100_000  # the longest variable is 128 KiB


def test_what_cannot_be_meant_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="files are put on a branch; name it with --branch"):
        transfer.put(DatasetOptions.of("digits@dev", "dev", "default"), str(tmp_path), _ABOUT)
    with pytest.raises(UserError, match="is no folder"):
        transfer.put(_QUESTION, str(tmp_path / "nothing"), _ABOUT)
    with pytest.raises(UserError, match="names no version; add one, such as digits@main~1"):
        history.rollback(_QUESTION, _ABOUT)
    assert json.dumps(DatasetArgs(volume="data").rules)


def test_a_rollback_to_files_that_do_not_fit_the_table_is_refused(
    dataset: Remote, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _put(dataset, folder, capsys)
    (folder / "1").unlink()
    _put(dataset, folder, capsys)
    args = DatasetArgs.model_validate({"volume": "data", "table": {"columns": {"x": "int64"}}})
    monkeypatch.setattr(remote, "opened", lambda *_, **__: nullcontext(replace(dataset, args=args)))
    with pytest.raises(UserError, match=r"^'1': is no Parquet file; a table holds Parquet files"):
        history.rollback(DatasetOptions.of("digits@main~1", "dev", "default"), _ABOUT)


def test_a_folder_that_cannot_be_read_is_refused_and_not_left_out(
    dataset: Remote, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scandir = os.scandir

    def denied(path: str) -> Any:
        if str(path).endswith("/a"):
            raise PermissionError(13, "Permission denied", path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", denied)
    with pytest.raises(UserError, match="/raw/a: Permission denied; make the folder readable, or move it away"):
        transfer.commit(dataset, _QUESTION, folder, _ABOUT, Console())


def test_a_file_that_moves_while_its_folders_are_listed_is_sent(
    dataset: Remote, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "b" / "left").mkdir(parents=True)
    (folder / "b" / "moving").write_text("moved")
    scandir = os.scandir

    def moving(path: str) -> Any:
        if Path(path) == folder / "b" and (folder / "b" / "moving").exists():
            (folder / "b" / "moving").rename(folder / "a" / "moving")
        if Path(path) == folder / "b" / "left" and Path(path).exists():
            Path(path).rmdir()
        return scandir(path)

    with monkeypatch.context() as patched:
        patched.setattr(os, "scandir", moving)
        transfer.commit(dataset, _QUESTION, folder, _ABOUT, Console())
    transfer.checkout(dataset, _QUESTION, tmp_path / "back", Console())
    assert (tmp_path / "back" / "a" / "moving").read_text() == "moved"


def test_names_with_the_most_bytes_come_back(
    dataset: Remote, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("\N{GRINNING FACE}" * 63, "x" * 255):
        (folder / name).write_text(name)
    _put(dataset, folder, capsys)
    transfer.checkout(dataset, _QUESTION, tmp_path / "got", Console())
    assert {path.name for path in (tmp_path / "got").iterdir()} == {path.name for path in folder.iterdir()}


@pytest.mark.parametrize(("one", "other"), [("B", "b"), ("e\u0301", "\u00e9")])
def test_names_that_the_file_system_takes_for_one_are_told(
    dataset: Remote, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], one: str, other: str
) -> None:
    for number, name in enumerate((one, other)):
        (folder / name).mkdir()
        (folder / name / "x").write_text(f"{number}")
    _put(dataset, folder, capsys)
    transfer.checkout(dataset, _QUESTION, tmp_path / "apart", Console())
    # As on macOS, where both names lead to one folder.
    (tmp_path / "got" / one).mkdir(parents=True)
    (tmp_path / "got" / other).symlink_to(one)
    with pytest.raises(UserError) as refused:
        transfer.checkout(dataset, _QUESTION, tmp_path / "got", Console())
    assert refused.value.lines == (
        f"{one}/x and {other}/x: are one file in {tmp_path / 'got'}, whose file system takes these names for the same;"
        " copy them to another one",
    )


def test_names_that_are_no_text_are_refused_before_anything_is_sent(dataset: Remote, folder: Path) -> None:
    for name in (b"\xff.jpg", b"a/\xfe"):
        Path(os.fsdecode(os.fsencode(folder) + b"/" + name)).write_text("1")
    with pytest.raises(UserError) as refused:
        transfer.commit(dataset, _QUESTION, folder, _ABOUT, Console())
    expected = [rf"{folder}/{name}: its name is not UTF-8; rename it" for name in ("\\udcff.jpg", "a/\\udcfe")]
    assert sorted(refused.value.lines) == sorted(expected)
    (folder / os.fsdecode(b"\xff.jpg")).unlink()
    (folder / "a" / os.fsdecode(b"\xfe")).unlink()
    with pytest.raises(UserError, match=r"^message, author or provenance: is not UTF-8; write it in UTF-8$"):
        transfer.commit(dataset, _QUESTION, folder, {**_ABOUT, "message": "\udcff"}, Console())


def test_a_pattern_means_stars_and_question_marks_alone(
    dataset: Remote, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("[a].jpg", "a.jpg", "b\n.jpg"):
        (folder / name).write_text("1")
    _put(dataset, folder, capsys)
    monkeypatch.setattr(remote, "opened", lambda *_, **__: nullcontext(dataset))
    for pattern, expected in {
        "[a].jpg": ["[a].jpg"],
        "?.jpg": ["a.jpg"],
        "*.jpg": ["[a].jpg", "a.jpg", "b\n.jpg"],
        "a*": ["a.jpg", "a/0"],
        "a.jp": [],
    }.items():
        history.files(_QUESTION, pattern, as_json=True)
        assert [*json.loads(capsys.readouterr().out)] == expected, pattern


def test_a_volume_that_is_full_is_named(
    dataset: Remote, folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Dataset, "put", full)
    with pytest.raises(
        UserError, match=r"^digits: what 'put' writes does not fit on volume data, which has .* free; make"
    ):
        transfer.commit(dataset, _QUESTION, folder, _ABOUT, Console())


def test_what_no_version_has_is_deleted(
    dataset: Remote, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    _put(dataset, folder, capsys)
    here = Dataset(dataset.root)
    left = here.content(here.keep(io.BytesIO(bytes(4096))))
    history.collect(dataset, _QUESTION, Console(), now=False)
    assert capsys.readouterr().out == (
        "digits: deleted 0 B: 0 contents; what was written or read in the last 24 hours stays "
        "(--now deletes what no kept version has)\n"
    )
    monkeypatch.setattr(retention, "_ENTERED_SECONDS", 0.0)
    history.collect(dataset, _QUESTION, Console(), now=True)
    assert capsys.readouterr().out == "digits: deleted 4 KiB: 1 content\n"
    assert not left.exists()
    assert not list(here.damaged())


def test_one_version_alone_is_not_collected() -> None:
    with pytest.raises(UserError, match="digits@main~1: collect takes a whole dataset; remove the reference"):
        history.collect_from(replace(_QUESTION, reference="main~1"), now=True)
