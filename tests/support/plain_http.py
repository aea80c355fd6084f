"""Connections of agents to a fake API server, which has no certificate."""

from __future__ import annotations

from http.client import HTTPConnection


def connection(host: str, port: int, *, timeout: float, context: None) -> HTTPConnection:
    """In place of `http.client.HTTPSConnection`."""
    return HTTPConnection(host, port, timeout=timeout)
