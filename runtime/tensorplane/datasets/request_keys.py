"""The keys of requests, and what they hold. A misspelled key, or "false" as text, would make it a request for something
else.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from tensorplane.datasets.errors import Refused, all_of, shortened

_OF_SETTINGS = ("dataset", "volume", "others", "conflicts", "table", "retention")
"""What the settings say of a dataset, which each request may have."""
_ABOUT = ("message", "author", "provenance")
_CONFLICTS, _RETENTION = ("refuse", "last"), ("last", "days")


class _Keys(NamedTuple):
    required: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()


OF: Mapping[str, _Keys] = {
    "commit": _Keys(("folder",), ("branch", "base", "whole", "adopt", *_ABOUT)),
    "lacks": _Keys(("files",), ("branch",)),
    "put": _Keys(("files",), ("sent", "branch", "base", "at", "add", *_ABOUT)),
    "files": _Keys(optional=("reference",)),
    "send": _Keys(("files",)),
    "open": _Keys(optional=("reference",)),
    "log": _Keys(optional=("reference", "limit")),
    "diff": _Keys(optional=("before", "after")),
    "branches": _Keys(),
    "branch": _Keys(("name",), ("reference", "delete")),
    "label": _Keys(("name",), ("reference", "seconds", "move", "delete")),
    "rollback": _Keys(("reference",), ("branch", *_ABOUT)),
    "collect": _Keys(optional=("now",)),
}
"""The keys of each verb's requests."""


def _is_truth(value: Any) -> bool:
    return isinstance(value, bool)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_map(value: Any) -> bool:
    return isinstance(value, dict)


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_text, value))


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_file(value: Any) -> bool:
    digest, size, *executable = value if isinstance(value, list) and 2 <= len(value) <= 3 else (None, None)
    is_digest = isinstance(digest, str) and bool(re.fullmatch("[0-9a-f]{64}", digest))
    return is_digest and _is_count(size) and all(map(_is_truth, executable))


class _Value(NamedTuple):
    words: str
    holds: Callable[[Any], bool]


_TEXT = _Value("text", _is_text)
_HOLDS: Mapping[str, _Value] = {
    **dict.fromkeys(("whole", "adopt", "add", "delete", "move", "now"), _Value("true or false", _is_truth)),
    **dict.fromkeys(("table", "retention", "provenance"), _Value("a map", _is_map)),
    **dict.fromkeys(("sent", "others"), _Value("a list of texts", _are_texts)),
    "limit": _Value("a whole number that is not negative", _is_count),
    "seconds": _Value("a number", _is_number),
}
"""What a key holds, if that is not text. `files` holds a map or a list, by the verb."""
_FILE = "[SHA-256 in hexadecimal, size, executable]"


def check(verb: str, asked: Any) -> None:
    """Raises Refused, with a line per fault, unless a request is one of this verb."""
    if verb not in OF:
        raise Refused(f"{verb}: is no verb; choose one of {', '.join(OF)}")
    if not isinstance(asked, dict):
        raise Refused(f'{verb}: the request is no map of JSON; write it as {{"reference": "main"}}, in one line')
    if faults := list(_faults(verb, asked)):
        raise all_of(f"{verb}.{fault}" for fault in faults)


def _faults(verb: str, asked: Mapping[str, Any]) -> Iterator[str]:
    known = (*OF[verb].required, *OF[verb].optional, *_OF_SETTINGS)
    for key in OF[verb].required:
        if asked.get(key) is None:
            yield f"{key}: is missing; set it"
    for key, value in asked.items():
        if key not in known:
            if value:  # what says nothing changes nothing
                names = ", ".join((*OF[verb].required, *OF[verb].optional)) or "none"
                yield f"{key}: is no key of this request; it has {names}"
        elif value is not None:
            yield from _of_files(verb, value, asked.get("sent")) if key == "files" else _of_value(key, value)


def _of_value(key: str, value: Any) -> Iterator[str]:
    expected = _HOLDS.get(key, _TEXT)
    if not expected.holds(value):
        yield f"{key}: is {shortened(repr(value))}; set it to {expected.words}"
    elif key == "conflicts" and value not in _CONFLICTS:
        yield f"conflicts: is {value!r}; set it to {' or '.join(_CONFLICTS)}"
    elif key == "retention":
        for each in value.keys() - set(_RETENTION):
            yield f"retention.{each}: is no key of it; it has {', '.join(_RETENTION)}"
    elif key == "table" and value and not (_is_map(value.get("columns")) and _are_texts(value.get("partitions") or [])):
        yield 'table: is no schema; write it as {"columns": {"id": "int64"}, "partitions": ["day"]}'


def _of_files(verb: str, value: Any, sent: Any) -> Iterator[str]:
    if not isinstance(value, list if verb == "send" else dict):
        words = "a list of" if verb == "send" else "a map from paths to"
        yield f"files: is {shortened(repr(value))}; set it to {words} {_FILE}"
        return
    wrong = [each for each in (value if isinstance(value, list) else value.values()) if not _is_file(each)]
    if wrong:
        yield f"files: {shortened(repr(wrong[0]))} is no file; {len(wrong):,} of {len(value):,} are not {_FILE}"
    for path in sent if isinstance(value, dict) and _are_texts(sent) else ():
        if path not in value:
            yield f"sent: {path!r} is not in files; add it there"
