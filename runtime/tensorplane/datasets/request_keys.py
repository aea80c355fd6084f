"""The keys of requests, and what they hold. A misspelled key, or "false" as text, would make it a request for something
else.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from tensorplane.datasets.refused import Refused, all_of

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
_TRUTH, _MAP, _LIST, _TEXT = "true or false", "a map", "a list", "text"
_TYPES: Mapping[str, tuple[type, ...]] = {
    _TRUTH: (bool,),
    _MAP: (dict,),
    _LIST: (list,),
    _TEXT: (str,),
    "a number": (int, float),
}
_HOLDS: Mapping[str, str] = {
    **dict.fromkeys(("whole", "adopt", "add", "delete", "move", "now"), _TRUTH),
    **dict.fromkeys(("table", "retention", "provenance"), _MAP),
    **dict.fromkeys(("sent", "others"), _LIST),
    **dict.fromkeys(("limit", "seconds"), "a number"),
}
"""What a key holds, if that is not text. `files` holds a map or a list, by the verb."""


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
        elif key != "files" and value is not None and not _is(value, holds := _HOLDS.get(key, _TEXT)):
            yield f"{key}: is {value!r}; set it to {holds}"

    if (conflicts := asked.get("conflicts")) not in (None, *_CONFLICTS):
        yield f"conflicts: is {conflicts!r}; set it to {' or '.join(_CONFLICTS)}"
    retention = asked.get("retention")
    for key in retention if isinstance(retention, dict) else ():
        if key not in _RETENTION:
            yield f"retention.{key}: is no key of it; it has {', '.join(_RETENTION)}"


def _is(value: object, holds: str) -> bool:
    is_truth = isinstance(value, bool)
    return is_truth if holds == _TRUTH else not is_truth and isinstance(value, _TYPES[holds])
