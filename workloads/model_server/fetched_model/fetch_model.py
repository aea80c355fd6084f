"""Fetches a model into a folder, before a model server starts there: the folders of its versions, from an archive or a
folder that was downloaded.

    python3 -I fetch_model.py FOLDER --url URL [--sha256 DIGEST]
    python3 -I fetch_model.py FOLDER --downloaded PATH [--sha256 DIGEST]

With the variable AUTHORIZATION, requests have it as their header of this name. It requires the standard library alone,
because any image with Python may run it. It ends with exit code 1 and one line if there is no such model.
"""

from __future__ import annotations

import argparse
import hashlib
import http.client
import os
import shutil
import sys
import tarfile
import time
import urllib.error
import urllib.request
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.parse import urlsplit

GRAPHS = ("saved_model.pb", "saved_model.pbtxt")
"""A folder with one of these is a SavedModel."""
_TRIES, _FIRST_WAIT_SECONDS, _READ_SECONDS = 5, 1.0, 60.0
_AGAIN = frozenset({408, 425, 429, 500, 502, 503, 504})
"""Statuses after which a later request may succeed."""
_CHUNK = 1 << 20
_DEEPEST = 2
"""How many folders around the model an archive may have, such as one with its own name."""


class NoModelError(Exception):
    """What was fetched is no model, or not the expected one."""


def fetch(folder: Path, archive: Path) -> None:
    """Unpack an archive, and put the folders of the model's versions into this folder."""
    unpacked = folder / ".unpacked"
    _unpack(archive, unpacked)
    move_versions(folder, unpacked)


def move_versions(folder: Path, found: Path) -> None:
    """Move the folders of versions into this folder, by their numbers; a SavedModel alone is version 1."""
    versions = dict(_versions(found))
    if not versions:
        files = ", ".join(sorted(path.name for path in found.iterdir())[:5]) or "nothing"
        raise NoModelError(f"holds neither a SavedModel nor numbered folders with one, but {files}")
    for number, source in versions.items():
        shutil.move(source, folder / str(number))


def _versions(found: Path, depth: int = 0) -> Iterator[tuple[int, Path]]:
    if _is_model(found):
        yield 1, found
        return
    inside = sorted(path for path in found.iterdir() if path.is_dir())
    numbered = [path for path in inside if path.name.isascii() and path.name.isdecimal() and _is_model(path)]
    if numbered:
        yield from ((int(path.name), path) for path in numbered)
    elif len(inside) == 1 and depth < _DEEPEST:
        yield from _versions(inside[0], depth + 1)


def _is_model(folder: Path) -> bool:
    return any((folder / name).is_file() for name in GRAPHS)


def _unpack(archive: Path, target: Path) -> None:
    """Raises NoModelError for a damaged archive, and for one with files outside the folder."""
    try:
        if zipfile.is_zipfile(archive):
            with zipfile.ZipFile(archive) as opened:
                # Names that lead outside are made relative.
                opened.extractall(target)  # noqa: S202
        else:
            with tarfile.open(archive, errorlevel=2) as packed:
                for entry in packed:
                    _unpack_one(packed, entry, target)
    except (tarfile.TarError, zipfile.BadZipFile, EOFError, OSError) as error:
        # tarfile has a line for each format that it has tried.
        line = next(iter(str(error).splitlines()), type(error).__name__)
        raise NoModelError(f"cannot be unpacked: {line.rstrip(':')}") from None


def _unpack_one(packed: tarfile.TarFile, entry: tarfile.TarInfo, target: Path) -> None:
    """Write one file or folder. The filters of newer Python versions would do, but Python 3.11.2 has none."""
    path = target / entry.name
    if not path.resolve().is_relative_to(target.resolve()) or not (entry.isfile() or entry.isdir()):
        raise tarfile.ExtractError(f"{entry.name} is neither a file nor a folder inside of it")
    (path if entry.isdir() else path.parent).mkdir(parents=True, exist_ok=True)
    if content := packed.extractfile(entry):
        with path.open("wb") as written:
            shutil.copyfileobj(content, written, _CHUNK)


def verify(archive: Path, digest: str) -> None:
    """Raises NoModelError if the file has another SHA-256."""
    found = hashlib.sha256()
    with archive.open("rb") as opened:
        while chunk := opened.read(_CHUNK):
            found.update(chunk)
    if found.hexdigest() != digest:
        raise NoModelError(f"has the SHA-256 {found.hexdigest()}, but {digest} is expected")


def download(url: str, target: Path, authorization: str = "", *, verified: bool = False) -> None:
    """Download a file, with a few tries. Raises NoModelError. `verified`: whether its digest is checked, so that a
    redirect from https to http does no harm."""
    wait = _FIRST_WAIT_SECONDS
    for attempt in range(1, _TRIES + 1):
        try:
            _download(url, target, authorization, verified=verified)
        except urllib.error.HTTPError as refused:
            if refused.code not in _AGAIN or attempt == _TRIES:
                raise NoModelError(f"the server answers {refused.code} {refused.reason}") from None
        except (OSError, http.client.HTTPException) as error:
            if attempt == _TRIES:
                raise NoModelError(f"cannot be downloaded: {getattr(error, 'reason', error)}") from None
        else:
            return
        time.sleep(wait)
        wait *= 2


def _download(url: str, target: Path, authorization: str, *, verified: bool) -> None:
    # The settings allow http and https alone.
    request = urllib.request.Request(url, headers={"User-Agent": "tensorplane"})  # noqa: S310
    if authorization:
        # Another host, to which the answer may redirect, must not learn it.
        request.add_unredirected_header("Authorization", authorization)
    with urllib.request.urlopen(request, timeout=_READ_SECONDS) as answer, target.open("wb") as written:  # noqa: S310
        if urlsplit(url).scheme == "https" != urlsplit(answer.url).scheme and not verified:
            raise NoModelError("is redirected to an address without TLS; set sha256, or another address")
        shutil.copyfileobj(answer, written, _CHUNK)
        expected = answer.headers.get("Content-Length")
        if expected and not answer.headers.get("Content-Encoding") and written.tell() != int(expected):
            raise OSError(f"{written.tell()} of {expected} bytes came")


def main(arguments: Sequence[str]) -> str:
    """Fetch what the arguments say. Returns why there is no model; empty if there is one."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--url", default="")
    parser.add_argument("--downloaded", type=Path)
    parser.add_argument("--sha256", default="")
    asked = parser.parse_args(arguments)
    # An earlier try in the same pod may have left a part of the model.
    shutil.rmtree(asked.folder, ignore_errors=True)
    asked.folder.mkdir(parents=True)
    archive = asked.downloaded or asked.folder / ".archive"
    try:
        if asked.url:
            download(asked.url, archive, os.environ.get("AUTHORIZATION", ""), verified=bool(asked.sha256))
        if not archive.exists():
            raise NoModelError("is empty")
        if archive.is_dir():
            move_versions(asked.folder, archive)
        else:
            if asked.sha256:
                verify(archive, asked.sha256)
            fetch(asked.folder, archive)
    except NoModelError as reason:
        # A query may have a token.
        return f"{asked.url.partition('?')[0] or archive.name}: {reason}"
    finally:
        shutil.rmtree(asked.folder / ".unpacked", ignore_errors=True)
        if asked.url:
            archive.unlink(missing_ok=True)
    return ""


if __name__ == "__main__":
    if why := main(sys.argv[1:]):
        print(why, file=sys.stderr)
        sys.exit(1)
