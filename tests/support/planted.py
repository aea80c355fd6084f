"""Searches for planted secrets: as they are, and in the encodings in which they could hide."""

from __future__ import annotations

import base64
import contextlib
import re
import urllib.parse
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|[\"\\\\/bfnrt])")
_ESCAPED = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
LEAST = 12
"""Secrets have at least so many characters, so that none is found by chance."""


def forms(secret: str) -> dict[str, bytes]:
    """The bytes to search for, by the name of the encoding."""
    assert len(secret) >= LEAST
    raw = secret.encode()
    found = {
        "plain": raw,
        "reversed": secret[::-1].encode(),
        "hex": raw.hex().encode(),
        "HEX": raw.hex().upper().encode(),
        "url": urllib.parse.quote(secret, safe="").encode(),
        "url, form": urllib.parse.quote_plus(secret, safe="").encode(),
        "utf-16": secret.encode("utf-16-le"),
    }
    for shift in range(3):
        found[f"base64, shifted by {shift}"] = _base64(raw, shift)
        found[f"base64 for URLs, shifted by {shift}"] = _base64(raw, shift).translate(bytes.maketrans(b"+/", b"-_"))
    return found


def found_in(texts: Mapping[str, bytes], secrets: Mapping[str, str]) -> list[str]:
    """Where which secret is, by the names of both: never the secret itself."""
    searched = {name: forms(secret) for name, secret in secrets.items()}
    found = []
    for place, content in texts.items():
        unescaped = list(_unescaped(content))
        for name, wanted in searched.items():
            found += [f"{name} is in {place} ({form})" for form, sought in wanted.items() if sought in content]
            if any(wanted["plain"] in text for text in unescaped):
                found.append(f"{name} is in {place} (escaped)")
    return found


def files(folder: Path, without: Iterable[Path] = ()) -> dict[str, bytes]:
    """The content of every file below a folder, by path. `without`: what has the secrets that were planted."""
    found: dict[str, bytes] = {}
    for path in _below(folder, tuple(without)):
        with contextlib.suppress(FileNotFoundError):
            found[str(path.relative_to(folder))] = path.read_bytes()
    return found


def _below(folder: Path, without: tuple[Path, ...]) -> Iterator[Path]:
    inside: list[Path] = []
    # Plugins of an engine's run that has ended still remove what is theirs.
    with contextlib.suppress(FileNotFoundError):
        inside = sorted(folder.iterdir())
    for path in inside:
        if path in without or path.is_symlink():
            continue
        if path.is_dir():
            yield from _below(path, without)
        elif path.is_file():
            yield path


def _unescaped(content: bytes) -> Iterator[bytes]:
    """The content without escapes of JSON and the like, and without those within its texts, three times."""
    text = content.decode(errors="replace")
    for _ in range(3):
        text = _ESCAPE.sub(lambda match: _ESCAPED.get(match[1]) or chr(int(match[1][1:], 16)), text)
        yield text.encode(errors="replace")


def _base64(raw: bytes, shift: int) -> bytes:
    """The characters that this text has in base64 wherever it begins `shift` bytes after a multiple of three."""
    encoded = base64.b64encode(b"\0" * shift + raw)
    # The first characters depend on what stands before, the last on what follows.
    first = (shift * 8 + 5) // 6
    last = (shift + len(raw)) * 8 // 6
    return encoded[first:last]
