"""The program with which a server's pods fetch a model: archives, downloads, and what it refuses in one line."""

from __future__ import annotations

import hashlib
import io
import subprocess
import sys
import tarfile
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tensorplane.workloads.model_server.fetched_model import fetch_model

MODEL = {"saved_model.pb": b"graph", "variables/variables.index": b"index"}


def _under(folder: str) -> dict[str, bytes]:
    return {f"{folder}/{name}": content for name, content in MODEL.items()}


def _tar(files: dict[str, bytes], mode: str = "w:gz") -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=mode) as archive:  # type: ignore[call-overload]
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()


def _zip(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return buffer.getvalue()


@dataclass
class Source:
    """An HTTP server with one file."""

    content: bytes
    statuses: list[int] = field(default_factory=list)
    """Of the first answers; then 200."""
    cut_off: int = 0
    """How many answers end early."""
    location: str = ""
    """Where the first request is redirected to."""
    headers: list[dict[str, str]] = field(default_factory=list)
    url: str = ""


@contextmanager
def _serving(source: Source) -> Iterator[Source]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            source.headers.append(dict(self.headers))
            status = source.statuses.pop(0) if source.statuses else 200
            self.send_response(status)
            if status in (301, 302):
                self.send_header("Location", source.location)
            content = source.content if status == 200 else b""
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            if source.cut_off and content:
                source.cut_off -= 1
                content = content[: len(content) // 2]
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    source.url = f"http://127.0.0.1:{server.server_port}/digits.tar.gz"
    try:
        yield source
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetch_model, "_FIRST_WAIT_SECONDS", 0.01)


def _files(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    ("files", "versions"),
    [
        (MODEL, {1}),
        (_under("digits"), {1}),
        ({**_under("3"), **_under("12")}, {3, 12}),
        ({**_under("digits/3"), **_under("digits/4"), "digits/README": b"text"}, {3, 4}),
    ],
)
def test_versions_are_found_wherever_the_archive_has_them(
    tmp_path: Path, files: dict[str, bytes], versions: set[int]
) -> None:
    for number, archive in enumerate((_tar(files), _tar(files, "w"), _zip(files))):
        target = tmp_path / str(number)
        with _serving(Source(archive)) as source:
            assert fetch_model.main([str(target), "--url", source.url]) == ""
        assert _files(target) >= {f"{version}/{name}" for version in versions for name in MODEL}
        assert {path.name for path in target.iterdir()} == {str(version) for version in versions}


def test_links_of_an_archive_are_refused(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        entry = tarfile.TarInfo("saved_model.pb")
        entry.type, entry.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(entry)
    with _serving(Source(buffer.getvalue())) as source:
        told = fetch_model.main([str(tmp_path / "x"), "--url", source.url])
    assert told.endswith("cannot be unpacked: saved_model.pb is neither a file nor a folder inside of it")


def test_the_digest_is_checked(tmp_path: Path) -> None:
    archive = _tar(MODEL)
    digest = hashlib.sha256(archive).hexdigest()
    with _serving(Source(archive)) as source:
        assert fetch_model.main([str(tmp_path / "a"), "--url", source.url, "--sha256", digest]) == ""
        told = fetch_model.main([str(tmp_path / "b"), "--url", source.url, "--sha256", "0" * 64])
    assert told == f"{source.url}: has the SHA-256 {digest}, but {'0' * 64} is expected"
    assert _files(tmp_path / "b") == set()


@pytest.mark.parametrize(
    ("source", "told"),
    [
        (Source(b"", [404]), "the server answers 404 Not Found"),
        (Source(b"", [503] * 5), "the server answers 503 Service Unavailable"),
        (Source(b"no archive"), "cannot be unpacked: "),
        (Source(_tar(MODEL)[:40]), "cannot be unpacked: "),
        (Source(_tar({"../../evil": b"", **MODEL})), "cannot be unpacked: "),
        (Source(_tar({"weights.h5": b"", "README": b""})), "holds neither a SavedModel nor numbered folders with one"),
    ],
)
def test_what_is_no_model_is_one_line(tmp_path: Path, source: Source, told: str) -> None:
    with _serving(replace(source, statuses=[*source.statuses], headers=[])) as source:
        found = fetch_model.main([str(tmp_path / "x"), "--url", f"{source.url}?token=secret"])
    assert found.startswith(f"{source.url}: {told}")
    assert "\n" not in found


def test_a_server_that_is_down_for_a_moment_is_asked_again(tmp_path: Path) -> None:
    with _serving(Source(_tar(MODEL), [503, 500], cut_off=1)) as source:
        assert fetch_model.main([str(tmp_path), "--url", source.url]) == ""
    assert len(source.headers) == 4


def test_credentials_stay_with_the_server_that_they_are_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUTHORIZATION", "Bearer secret")
    with _serving(Source(_tar(MODEL))) as other, _serving(Source(b"", [302], location=other.url)) as source:
        assert fetch_model.main([str(tmp_path), "--url", source.url]) == ""
    assert source.headers[0]["Authorization"] == "Bearer secret"
    assert "Authorization" not in other.headers[0]


def test_what_rclone_has_downloaded_is_served(tmp_path: Path) -> None:
    archive, folder = tmp_path / "digits.tar.gz", tmp_path / "downloaded"
    archive.write_bytes(_tar(MODEL))
    for name, content in _under("7").items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    for downloaded, version in ((archive, 1), (folder, 7)):
        assert fetch_model.main([str(tmp_path / "x"), "--downloaded", str(downloaded)]) == ""
        assert _files(tmp_path / "x") == {f"{version}/{name}" for name in MODEL}
    assert fetch_model.main([str(tmp_path / "x"), "--downloaded", str(tmp_path / "none")]) == "none: is empty"


def test_it_is_a_program_of_the_standard_library(tmp_path: Path) -> None:
    words = [sys.executable, "-I", fetch_model.__file__, str(tmp_path / "x"), "--downloaded", str(tmp_path / "none")]
    ended = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (1, "none: is empty\n")
