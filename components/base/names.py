"""Hashes of content, and names that are shortened by one. Deployed objects have such names: they never change."""

import hashlib
import json
import re

HASH_LENGTH = 8
"""Characters of a hash in names, unless there is room for fewer."""


_LABEL = re.compile(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?")


def digest(content: str | bytes, length: int = HASH_LENGTH) -> str:
    """The first characters of the content's SHA-256 in hexadecimal; 64 are all of it."""
    data = content.encode() if isinstance(content, str) else content
    return hashlib.sha256(data).hexdigest()[:length]


def sha256() -> "hashlib._Hash":
    """The SHA-256 of content that comes in parts."""
    return hashlib.sha256()


def digest_of(value: object, length: int = HASH_LENGTH) -> str:
    """The hash of plain data, whatever the order of its keys."""
    return digest(json.dumps(value, sort_keys=True), length)


def shorten(name: str, limit: int, hashed: int = HASH_LENGTH) -> str:
    """The name, shortened with a hash suffix if it exceeds the limit. `hashed`: the characters of the hash."""
    if len(name) <= limit:
        return name
    return f"{name[: limit - hashed - 1].rstrip('-')}-{digest(name, hashed)}"


def labelled(prefix: str, name: str, limit: int = 63) -> str:
    """A DNS label of a prefix and a name, or of its hash if the name cannot be a part of one."""
    made = f"{prefix}{name}"
    return made if len(made) <= limit and _LABEL.fullmatch(name) else f"{prefix}{digest(name)}"
