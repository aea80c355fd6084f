"""Real last words of programs on a machine in trouble, and what a person is told."""

from __future__ import annotations

import pytest

from tensorplane.core.causes import cause


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('Get "https://modules.example/x": dial tcp: lookup modules.example: no such host', "no network"),
        ("NewConnectionError: Failed to establish a new connection: [Errno 101] Network is unreachable", "no network"),
        ("E: Failed to fetch http://mirror.example/x.deb  Temporary failure resolving 'mirror.example'", "no network"),
        ("ProxyError('Cannot connect to proxy.', OSError('Tunnel connection failed: 403'))", "no network"),
        ("write /tmp/x: no space left on device", "the disk is full"),
        ("ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device", "the disk is full"),
        ("verifying x@v1.0.0: checksum mismatch", "checksum"),
        ("ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE.", "checksum"),
    ],
)
def test_known_troubles_are_named(line: str, said: str) -> None:
    found = cause(["started", line])
    assert found and said in found


def test_an_ordinary_failure_has_no_such_cause() -> None:
    assert cause(["main.go:3:2: undefined: x", "exit status 1"]) is None
