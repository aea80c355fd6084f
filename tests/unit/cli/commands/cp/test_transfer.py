"""Both ends of a copy: what arrives, what is never written, and what is not sent twice."""

from __future__ import annotations

import io
import os
import tarfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tensorplane.cli.commands.cp import plan, transfer
from tensorplane.core.errors import UserError
from tests.support import counts


def copied(source: Path, root: Path, path: str) -> plan.Plan:
    """Copies as the command does, without a pod between."""
    target = root / path
    found = plan.of(list(transfer.entries(str(source))), transfer.entries(str(target)), ("SRC", "DST"))
    stream = io.BytesIO()
    transfer.send(str(source), found.wanted, stream)
    stream.seek(0)
    transfer.receive(str(root), path, stream)
    return found


def tree(folder: Path) -> dict[str, Any]:
    """Everything in a folder: contents, modes and times of files, targets of links."""
    found: dict[str, Any] = {}
    for path in sorted(folder.rglob("*")):
        name, about = str(path.relative_to(folder)), path.lstat()
        if path.is_symlink():
            found[name] = ("link", str(path.readlink()))
        elif path.is_dir():
            found[name] = "folder"
        else:
            found[name] = (path.read_bytes(), bool(about.st_mode & 0o100), int(about.st_mtime))
    return found


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "source"
    (folder / "deep" / "er").mkdir(parents=True)
    (folder / "empty").mkdir()
    (folder / "a.txt").write_text("a")
    (folder / "none").touch()
    (folder / "deep" / "er" / "big").write_bytes(os.urandom(3 * transfer.CHUNK + 7))
    (folder / "run.sh").write_text("#!/bin/sh")
    (folder / "run.sh").chmod(0o4755)
    (folder / "deep" / "link").symlink_to("../a.txt")
    os.utime(folder / "a.txt", (1e9, 1e9))
    return folder


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "root"
    folder.mkdir()
    return folder


def test_a_folder_arrives_with_modes_times_and_inner_links(source: Path, root: Path) -> None:
    found = copied(source, root, "some/where")
    assert tree(root / "some/where") == tree(source)
    assert not (root / "some/where/run.sh").stat().st_mode & 0o4000, "setuid is not copied"
    assert found.files == 5


def test_a_second_copy_sends_what_has_changed_alone(source: Path, root: Path) -> None:
    copied(source, root, "copy")
    (source / "a.txt").write_text("b")
    (root / "copy/deep/er/big").unlink()
    found = copied(source, root, "copy")
    assert [each["path"] for each in found.wanted] == ["a.txt", "deep/er/big"]
    assert found.unchanged == 3
    assert tree(root / "copy") == tree(source)


def test_a_file_has_the_name_of_the_target(source: Path, root: Path) -> None:
    copied(source / "a.txt", root, "new/name.txt")
    assert (root / "new/name.txt").read_text() == "a"


def test_names_do_not_control_the_terminal(source: Path, root: Path) -> None:
    os.mkfifo(source / "red\x1b[31m\udcff")
    assert copied(source, root, "copy").notes[0].endswith(r"special files: red\x1b[31m\udcff")


def test_links_out_of_the_folder_and_special_files_are_left_out(source: Path, root: Path) -> None:
    (source / "out").symlink_to("../../etc/passwd")
    (source / "absolute").symlink_to(source / "a.txt")
    os.mkfifo(source / "pipe")
    found = copied(source, root, "copy")
    assert found.left_out == ["absolute", "out", "pipe"]
    assert found.notes == [
        "not copied, because they are links that lead out of the folder, or special files: absolute, out, pipe"
    ]
    assert not {"out", "absolute", "pipe"} & set(tree(root / "copy"))


def test_nothing_is_written_through_a_link_of_the_target(source: Path, root: Path, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.mkdir()
    (root / "copy").mkdir()
    (root / "copy/deep").symlink_to(victim)
    stream = io.BytesIO()
    transfer.send(str(source), transfer.entries(str(source)), stream)
    stream.seek(0)
    with pytest.raises(transfer.Refused, match="deep is a file or a symbolic link"):
        transfer.receive(str(root), "copy", stream)
    assert list(victim.iterdir()) == []


def test_a_link_in_place_of_a_file_is_replaced_and_not_followed(source: Path, root: Path, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    (root / "a.txt").symlink_to(victim)
    stream = io.BytesIO()
    transfer.send(str(source), [each for each in transfer.entries(str(source)) if each["path"] == "a.txt"], stream)
    stream.seek(0)
    transfer.receive(str(root), "", stream)
    assert victim.read_text() == "precious"
    assert (root / "a.txt").read_text() == "a"


def _member(name: str, kind: bytes = tarfile.REGTYPE, target: str = "") -> io.BytesIO:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as tar:
        member = tarfile.TarInfo(name)
        member.type, member.linkname = kind, target
        tar.addfile(member)
    stream.seek(0)
    return stream


@pytest.mark.parametrize(
    "stream",
    [
        _member("../out"),
        _member("a/../../out"),
        _member("/out"),
        _member("out", tarfile.SYMTYPE, "/etc"),
        _member("a/out", tarfile.SYMTYPE, "../../etc"),
        _member("out", tarfile.LNKTYPE, "a"),
        _member("out", tarfile.CHRTYPE),
        _member("out", tarfile.FIFOTYPE),
    ],
)
def test_a_stream_that_leads_out_is_refused(stream: io.BytesIO, root: Path) -> None:
    with pytest.raises(transfer.Refused):
        transfer.receive(str(root), "copy", stream)
    assert [path for path in root.rglob("*") if not path.is_dir()] == []
    assert list(root.parent.iterdir()) == [root]


def test_a_stream_that_ends_early_leaves_the_former_file(source: Path, root: Path) -> None:
    (root / "big").write_text("former")
    stream = io.BytesIO()
    transfer.send(str(source / "deep/er/big"), transfer.entries(str(source / "deep/er/big")), stream)
    with pytest.raises((transfer.Refused, tarfile.TarError)):
        transfer.receive(str(root), "big", io.BytesIO(stream.getvalue()[: transfer.CHUNK]))
    assert {path.name: path.read_text() for path in root.iterdir()} == {"big": "former"}


def test_names_with_the_most_bytes_arrive(source: Path, root: Path) -> None:
    for name in ("\N{GRINNING FACE}" * 63, "x" * 255):
        (source / name).write_text(name)
    copied(source, root, "copy")
    assert {path.name for path in (root / "copy").iterdir()} == {path.name for path in source.iterdir()}


def test_a_file_does_not_replace_a_folder(source: Path, root: Path) -> None:
    (root / "a.txt").mkdir()
    with pytest.raises(UserError, match="DST: is a folder, and SRC is a file; end it with / to copy into it"):
        copied(source / "a.txt", root, "a.txt")
    with pytest.raises(UserError, match="SRC: does not exist"):
        copied(source / "nothing", root, "b")


def test_a_path_through_a_link_is_refused(source: Path) -> None:
    assert transfer.inside(str(source), "deep/er") == f"{source}/deep/er"
    with pytest.raises(transfer.Refused, match="a symbolic link is on this path"):
        transfer.inside(str(source), "deep/link")


_NAME = st.text(st.characters(exclude_characters="/\0", exclude_categories=["Cs"]), min_size=1, max_size=20).filter(
    lambda name: name not in (".", "..") and len(name.encode()) < 64 and not name.endswith(".tensorplane-part")
)
_PATHS = st.dictionaries(st.lists(_NAME, min_size=1, max_size=3).map(tuple), st.binary(max_size=2000), max_size=8)


@pytest.mark.counted
@settings(max_examples=counts.of(quick=15, nightly=500))
@given(_PATHS, _PATHS)
def test_every_tree_arrives_and_what_else_is_there_stays(
    tmp_path_factory: pytest.TempPathFactory, files: dict[tuple[str, ...], bytes], before: dict[tuple[str, ...], bytes]
) -> None:
    source, root = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("root")
    heads = {path[0] for path in files}
    others = {path: content for path, content in before.items() if path[0] not in heads}
    for folder, wanted in ((source, files), (root / "copy", others)):
        folder.mkdir(exist_ok=True)
        for path, content in wanted.items():
            # A name may be a file in one path and a folder in another: the first one stays.
            file = folder.joinpath(*path)
            if not any(parent.is_file() for parent in file.parents) and not file.exists():
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(content)
    was = tree(root / "copy")
    copied(source, root, "copy")
    assert tree(root / "copy") == {**was, **tree(source)}
    assert copied(source, root, "copy").wanted == []
