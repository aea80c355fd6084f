"""Recognizes problems of the machine in a failed program's output: no network, no disk space, bad checksums."""

from __future__ import annotations

import re
from collections.abc import Sequence

_CAUSES = (
    (
        re.compile(r"No space left on device|ENOSPC|disk quota exceeded|not enough free disk space", re.IGNORECASE),
        "the disk is full; free some space, then run the same command again (finished parts are kept)",
    ),
    (
        re.compile(r"SECURITY ERROR|checksum mismatch|do not match the hashes|Hash Sum mismatch", re.IGNORECASE),
        "a download does not match its recorded checksum and was rejected; "
        "try again, and if it happens again, check the mirror and the network",
    ),
    (
        re.compile(
            r"no such host|Temporary failure (in name resolution|resolving)|Network is unreachable|No route to host"
            r"|Could not resolve|Name or service not known|Failed to establish a new connection|getaddrinfo failed"
            r"|connection refused|Connection timed out|i/o timeout|TLS handshake timeout|Could not connect to"
            r"|Tunnel connection failed|Cannot connect to proxy|Unable to connect",
            re.IGNORECASE,
        ),
        "no network, and the first run downloads its tools; connect this machine (or set HTTPS_PROXY), "
        "then run the same command again (finished downloads are kept)",
    ),
)


def cause(lines: Sequence[str]) -> str | None:
    """The problem and remedy if these last lines of output show a known problem of the machine, else None."""
    text = "\n".join(lines)
    return next((advice for pattern, advice in _CAUSES if pattern.search(text)), None)
