"""Pagination of lists: the oldest first, so that new entries are on later pages."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TypeVar

from embedded.csi import refusal
from embedded.csi.records import Snapshot, Volume

_Record = TypeVar("_Record", Volume, Snapshot)
_TOKEN = re.compile(r"(\d+)\.([a-z0-9-]+)")


def page(found: Sequence[_Record], most: int, token: str) -> tuple[list[_Record], str]:
    """The records after the token, and the next page's token. `most`: records of a page, 0 for all."""
    if most < 0:
        raise refusal.invalid(f"max_entries: {most} is negative; set 0 or more")
    after = _parse(token) if token else (-1, "")
    left = [record for record in found if (record.created, record.id) > after]
    if not most or len(left) <= most:
        return left, ""
    last = left[most - 1]
    return left[:most], f"{last.created}.{last.id}"


def _parse(token: str) -> tuple[int, str]:
    match = _TOKEN.fullmatch(token)
    if not match:
        raise refusal.busy(f"starting_token: {token!r} is not a token of this driver; start again without one")
    return int(match[1]), match[2]
