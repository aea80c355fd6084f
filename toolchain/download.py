"""Downloads files by their hashes: resumed where a download was interrupted, through the environment's proxy."""

from __future__ import annotations

import hashlib
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterable
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from typing import cast
from urllib.parse import urlsplit

from tensorplane.core.step import Step
from tensorplane.core.tasks import raise_if_stopping

REACH_SECONDS = 4.0
"""How long a host may take until its first answer; where there is no internet, a build waits for it once."""
STALL_SECONDS = 30.0
"""How long nothing may arrive in the middle of a file."""
ATTEMPTS = 3
_CHUNK = 1 << 18
_MEGABYTE = 1e6
_PARTIAL_CONTENT = 206
_RANGE_NOT_SATISFIABLE = 416
_SERVER_ERROR = 500


class Failed(Exception):
    """Why a file cannot be had: the end of a line that begins with its URL."""


def fetch(url: str, digest: str, part: Path, step: Step) -> None:
    """Makes `part` the file behind the URL, whose hash is `digest` (`sha256:…`); raises Failed if it cannot be had.

    What an earlier run has left in `part` is used as far as it is right. A failure leaves it for a next one, a wrong
    hash does not.
    """
    part.parent.mkdir(parents=True, exist_ok=True)
    has_rest = part.exists()
    if has_rest and _digest(part, digest) == digest:
        return
    _download(url, part, step)
    found = _digest(part, digest)
    if found != digest and has_rest:
        part.unlink()
        _download(url, part, step)
        found = _digest(part, digest)
    if found != digest:
        part.unlink()
        raise Failed(f"has the hash {found} and not the pinned {digest}")


def silent_hosts(urls: Iterable[str]) -> set[str]:
    """The hosts of these URLs that do not answer soon. All are asked at once, and each once in this process."""
    with _probing:
        probes = {}
        for url in urls:
            host = host_of(url)
            if host not in _probes:
                _probes[host] = _Probe(url)
                _probes[host].start()
            probes[host] = _probes[host]
    return {host for host, probe in probes.items() if not probe.has_answer()}


def host_of(url: str) -> str:
    """The host with its port, if the URL has one."""
    return urlsplit(url).netloc


class _Probe(threading.Thread):
    """Asks a host once. A thread, because no timeout of sockets limits how long the resolution of a name takes."""

    def __init__(self, url: str) -> None:
        super().__init__(name=f"probe of {url}", daemon=True)
        self._url = url
        self._answered = False
        self._until = time.monotonic() + REACH_SECONDS

    def run(self) -> None:
        try:
            # Not HEAD: urllib asks by GET where it is redirected to, for the whole file.
            _open(self._url, timeout=REACH_SECONDS, span="0-0").close()
        except urllib.error.HTTPError:
            pass  # an answer, too; what it says will matter when the file is downloaded
        except (OSError, HTTPException):
            return
        self._answered = True

    def has_answer(self) -> bool:
        """Waits until there is one, or until it took too long."""
        self.join(max(0.0, self._until - time.monotonic()))
        return self._answered


_probes: dict[str, _Probe] = {}
_probing = threading.Lock()


def _open(url: str, *, timeout: float, span: str = "") -> HTTPResponse:
    headers = {"User-Agent": "tensorplane", **({"Range": f"bytes={span}"} if span else {})}
    request = urllib.request.Request(url, headers=headers)  # noqa: S310, an address of releases.toml
    # A new opener: `urlopen` keeps the proxies of its first call.
    return cast(HTTPResponse, urllib.request.build_opener().open(request, timeout=timeout))


def _digest(path: Path, like: str) -> str:
    """The file's hash by the algorithm of another hash."""
    algorithm = like.partition(":")[0]
    with path.open("rb") as file:
        return f"{algorithm}:{hashlib.file_digest(file, algorithm).hexdigest()}"


def _download(url: str, part: Path, step: Step) -> None:
    why = ""
    for _ in range(ATTEMPTS):
        raise_if_stopping()
        try:
            return _resume(url, part, step)
        except urllib.error.HTTPError as error:
            why = f"answers {error.code} {error.reason}"
            if error.code == _RANGE_NOT_SATISFIABLE:
                part.unlink(missing_ok=True)
            elif error.code < _SERVER_ERROR:
                break
        except TimeoutError:
            why = f"has sent nothing for {STALL_SECONDS:g} s, after {_size(part)} bytes"
        except (OSError, HTTPException) as error:
            why = f"ends after {_size(part)} bytes ({error or type(error).__name__})"
    raise Failed(why)


def _resume(url: str, part: Path, step: Step) -> None:
    """Downloads from where `part` ends, or from the beginning if the server cannot do that."""
    has = _size(part)
    with _open(url, timeout=STALL_SECONDS, span=f"{has}-" if has else "") as answer:
        starts = answer.headers["Content-Range"] or ""
        if answer.status != _PARTIAL_CONTENT or not starts.startswith(f"bytes {has}-"):
            has = 0
        rest = answer.headers["Content-Length"]
        total = has + int(rest) if rest else 0
        with part.open("ab" if has else "wb") as file:
            # `read1` gives what is there, so that none of it is lost with a stall.
            while chunk := answer.read1(_CHUNK):
                file.write(chunk)
                raise_if_stopping()
                has += len(chunk)
                step.advance(has / _MEGABYTE, total / _MEGABYTE)
    if total and has != total:
        raise HTTPException(f"of {total}")


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0
