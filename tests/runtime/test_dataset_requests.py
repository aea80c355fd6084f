"""`python3 -m tensorplane.datasets`: requests in JSON, and contents after them."""

from __future__ import annotations

import hashlib
import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tensorplane.datasets import Dataset, __main__
from tests.runtime.launching import LIBRARY


class _Program:
    def __init__(self, root: Path) -> None:
        self.root = root

    def ended(self, verb: str, asked: dict[str, Any], contents: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        argv = [sys.executable, "-m", "tensorplane.datasets", verb, str(self.root)]
        given = _given(asked, contents)
        return subprocess.run(argv, input=given, capture_output=True, env={"PYTHONPATH": str(LIBRARY)})

    def answer(self, verb: str, asked: dict[str, Any], contents: bytes = b"") -> bytes:
        """What the program writes; in this process."""
        answer = io.BytesIO()
        __main__.main(verb, str(self.root), io.BytesIO(_given(asked, contents)), answer)
        return answer.getvalue()

    def __call__(self, verb: str, asked: dict[str, Any], contents: bytes = b"") -> Any:
        return json.loads(self.answer(verb, asked, contents) or b"null")


def _given(asked: dict[str, Any], contents: bytes) -> bytes:
    return json.dumps(asked).encode() + b"\n" + contents


@pytest.fixture
def program(tmp_path: Path) -> _Program:
    return _Program(tmp_path / "dataset")


def _file(content: bytes) -> list[Any]:
    return [hashlib.sha256(content).hexdigest(), len(content), False]


def test_files_are_put_and_sent(program: _Program) -> None:
    files = {"a": _file(b"one"), "b/c": _file(b"two"), "d": _file(b"one")}
    assert program("lacks", {"files": files}) == {"paths": ["a", "b/c"], "base": None}
    made = program("put", {"files": files, "sent": ["a", "b/c"], "message": "first", "author": "ann"}, b"onetwo")
    assert (made["message"], made["author"], made["files"]) == ("first", "ann", 3)
    answer = program("lacks", {"files": {"a": _file(b"one"), "e": _file(b"new")}})
    assert answer == {"paths": ["e"], "base": made["id"]}
    program("put", {"files": {"e": _file(b"new")}, "sent": ["e"], "base": made["id"], "at": "b"}, b"new")
    found = program("files", {"reference": "main"})
    assert sorted(found["files"]) == ["a", "b/e", "d"]
    asked = {"files": [found["files"]["b/e"], found["files"]["a"]]}
    done = program.ended("send", asked)
    assert (done.returncode, done.stdout) == (0, b"newone")
    assert program.answer("send", asked) == b"newone"
    program("put", {"files": {"x": _file(b"")}, "sent": ["x"], "base": found["commit"]["id"], "add": True})
    assert sorted(program("files", {})["files"]) == ["a", "b/e", "d", "x"]


def test_a_file_that_changed_while_it_was_sent_is_refused(program: _Program) -> None:
    done = program.ended("put", {"files": {"a": _file(b"one")}, "sent": ["a"]}, b"two")
    assert (done.returncode, done.stderr) == (1, b"'a': changed while it was sent; run the same command again\n")
    assert not Dataset(program.root).branches()
    assert not [path for path in (program.root / "objects").rglob("*") if path.is_file()], "nothing is left of it"


def test_what_was_sent_before_the_connection_broke_need_not_be_sent_again(program: _Program) -> None:
    files = {"a": _file(b"one"), "b": _file(b"two")}
    done = program.ended("put", {"files": files, "sent": ["a", "b"]}, b"onet")
    expected = b"'b': the connection ended; run the same command again, which sends the rest\n"
    assert (done.returncode, done.stderr) == (1, expected)
    assert program("lacks", {"files": files})["paths"] == ["b"]


def test_history_branches_and_labels(program: _Program, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    for number in range(3):
        (folder / "a").write_text(f"{number}")
        program("commit", {"folder": str(folder), "message": f"m{number}", "whole": True})
    program("label", {"name": "good", "reference": "main~1"})
    program("branch", {"name": "dev", "reference": "good"})
    listed = program("log", {"limit": 2})
    assert [(each["commit"]["message"], each["names"], each["kept"]) for each in listed] == [
        ("m2", ["main"], True),
        ("m1", ["dev", "good"], True),
    ]
    assert [each[0] for each in program("diff", {"before": "main~2"})] == ["a"]
    assert program("rollback", {"reference": "good", "author": "bob"})["author"] == "bob"
    opened = program("open", {})
    assert (Path(opened["path"]) / "a").read_text() == "1"
    program("branch", {"name": "dev", "delete": True})
    program("label", {"name": "good", "delete": True})
    found = program("branches", {})
    assert ([*found["branches"]], found["labels"]) == (["main"], {})


def test_retention_is_applied_by_commits(program: _Program) -> None:
    for number in range(3):
        content = f"{number}".encode()
        program("put", {"files": {"a": _file(content)}, "sent": ["a"], "retention": {"last": 1}}, content)
    assert (program.root / "collected").exists()  # nothing is old enough to be deleted
    assert [each["kept"] for each in program("log", {})] == [True, True, True]
