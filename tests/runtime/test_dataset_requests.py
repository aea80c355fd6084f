"""`python3 -m tensorplane.datasets`: requests in JSON, and contents after them."""

from __future__ import annotations

import hashlib
import io
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tensorplane.datasets import Dataset, Refused, __main__, request_keys, requests
from tests.runtime.launching import IN_PODS


class _Program:
    def __init__(self, root: Path) -> None:
        self.root = root

    def ended(self, verb: str, asked: dict[str, Any], contents: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        argv = [sys.executable, "-m", "tensorplane.datasets", verb, str(self.root)]
        given = _given(asked, contents)
        return subprocess.run(argv, input=given, capture_output=True, env={"PYTHONPATH": IN_PODS})

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


@pytest.mark.parametrize(
    ("verb", "asked", "line"),
    [
        (
            "commit",
            {"brnach": "dev", "whole": True},
            "commit.brnach: is no key of this request; it has folder, branch, base, whole, adopt, message, author, "
            "provenance",
        ),
        ("commit", {"whole": "false"}, "commit.whole: is 'false'; set it to true or false"),
        ("commit", {"folder": None}, "commit.folder: is missing; set it"),
        ("commit", {"conflicts": "lasst"}, "commit.conflicts: is 'lasst'; set it to refuse or last"),
        ("commit", {"provenance": ["raw"]}, "commit.provenance: is ['raw']; set it to a map"),
        (
            "collect",
            {"folder": None, "retention": {"lats": 1}},
            "collect.retention.lats: is no key of it; it has last, days",
        ),
        ("label", {"folder": None, "name": "x", "seconds": "60"}, "label.seconds: is '60'; set it to a number"),
        (
            "label",
            {"folder": None, "name": "x", "secs": 60},
            "label.secs: is no key of this request; it has name, reference, seconds, move, delete",
        ),
        (
            "label",
            {"folder": None, "name": "x", "seconds": -60},
            "seconds: is -60, so the label would have ended; set it to more than 0",
        ),
        ("log", {"folder": None, "limit": -1}, "log.limit: is -1; set it to a whole number that is not negative"),
        ("collect", {"folder": None, "retention": {"last": 0}}, "last: is 0; set it to a whole number from 1"),
        (
            "collect",
            {"folder": None, "retention": {"days": float("nan")}},
            "days: is nan; set it to more than 0",
        ),
        (
            "rollback",
            {"folder": None, "reference": "main", "table": {"column": {}}},
            'rollback.table: is no schema; write it as {"columns": {"id": "int64"}, "partitions": ["day"]}',
        ),
        (
            "lacks",
            {"folder": None, "files": {"a": ["abc", 3], "b": ["0" * 64, 3, True]}},
            "lacks.files: ['abc', 3] is no file; 1 of 2 are not [SHA-256 in hexadecimal, size, executable]",
        ),
        (
            "send",
            {"folder": None, "files": {"a": ["0" * 64, 3]}},
            f"send.files: is {{'a': ['{'0' * 64}', 3]}}; set it to a list of "
            "[SHA-256 in hexadecimal, size, executable]",
        ),
        (
            "put",
            {"folder": None, "files": {}, "sent": ["a"]},
            "put.sent: 'a' is not in files; add it there",
        ),
    ],
)
def test_a_request_that_would_do_something_else_is_refused(
    program: _Program, tmp_path: Path, verb: str, asked: dict[str, Any], line: str
) -> None:
    folder = tmp_path / "source"
    folder.mkdir()
    (folder / "a").write_text("1")
    program("commit", {"folder": str(folder)})
    (folder / "a").rename(folder / "b")
    with pytest.raises(Refused) as refused:
        program(verb, {"folder": str(folder), **asked})
    assert str(refused.value) == line
    assert [*program("files", {})["files"]] == ["a"]


@pytest.mark.parametrize(
    ("verb", "given", "line"),
    [
        ("comit", b"{}", "comit: is no verb; choose one of commit, lacks, .*"),
        ("log", b"{", "the request is no line of JSON: .*; write it in one line"),
        ("log", b"[1]", "log: the request is no map of JSON; .*"),
    ],
)
def test_what_is_no_request_is_refused_in_one_line(tmp_path: Path, verb: str, given: bytes, line: str) -> None:
    argv = [sys.executable, "-m", "tensorplane.datasets", verb, str(tmp_path / "dataset")]
    ended = subprocess.run(argv, input=given, capture_output=True, env={"PYTHONPATH": IN_PODS})
    assert (ended.returncode, bool(re.fullmatch(line, ended.stderr.decode().strip()))) == (1, True), ended.stderr


def test_null_says_as_much_as_no_key(program: _Program, tmp_path: Path) -> None:
    folder = tmp_path / "source"
    folder.mkdir()
    (folder / "a").write_text("1")
    for verb, keys in request_keys.OF.items():
        asked: dict[str, Any] = {**dict.fromkeys(keys.optional), **dict.fromkeys(keys.required, f"a-{verb}")}
        asked |= {"commit": {"folder": str(folder)}, "rollback": {"reference": "main"}}.get(verb, {})
        asked |= {"files": [] if verb == "send" else {}} if "files" in asked else {}
        program(verb, asked)
    found = program("branches", {})
    assert ({*found["branches"]}, {*found["labels"]}) == ({"main", "a-branch"}, {"a-label"})


def test_every_verb_has_its_keys() -> None:
    assert request_keys.OF.keys() == requests.VERBS.keys()


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
