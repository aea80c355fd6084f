"""Reads from a failed program's output what is wrong with the machine: no network, no disk space, bad checksums."""

from __future__ import annotations

import re
from collections.abc import Sequence

_CAUSES = (
    (
        re.compile(r"No space left on device|ENOSPC|disk quota exceeded|not enough free disk space", re.IGNORECASE),
        "the disk is full: free some space and run the same command again; what is finished is kept",
    ),
    (
        re.compile(r"SECURITY ERROR|checksum mismatch|do not match the hashes|Hash Sum mismatch", re.IGNORECASE),
        "a download does not match its recorded checksum, so it was refused: "
        "try again, and if it stays so, do not trust the network or the mirror in between",
    ),
    (
        re.compile(
            r"no such host|Temporary failure (in name resolution|resolving)|Network is unreachable|No route to host"
            r"|Could not resolve|Name or service not known|Failed to establish a new connection|getaddrinfo failed"
            r"|connection refused|Connection timed out|i/o timeout|TLS handshake timeout|Could not connect to"
            r"|Tunnel connection failed|Cannot connect to proxy|Unable to connect",
            re.IGNORECASE,
        ),
        "no network: the first run downloads its tools, so connect this machine (or set HTTPS_PROXY) "
        "and run the same command again; what is downloaded is kept",
    ),
)


def cause(lines: Sequence[str]) -> str | None:
    """What to tell a person about these last lines of output, when they show a known trouble of the machine."""
    text = "\n".join(lines)
    return next((advice for pattern, advice in _CAUSES if pattern.search(text)), None)
