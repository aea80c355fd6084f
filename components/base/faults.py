"""Faults in the settings: one line each, `key: problem; remedy`."""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pulumi
from pydantic import ValidationError
from pydantic_core import ErrorDetails

from components.base import field_docs, meant_value
from components.base.model import Model, is_name
from components.base.place import Key as Key
from components.base.place import Place, fields, variants
from stack_file import ENCRYPTED
from stack_file.nearest import did_you_mean as did_you_mean
from stack_file.nearest import nearest

_SHOWN = 60
_LONGEST_KEY = 200
_LONGEST_REASON = 2000
_FIRST_SENTENCE = re.compile(r"(.+?)(?:\.(?= )|\.?$)")
_LONG_WORD = re.compile(rf"\S{{{_LONGEST_KEY + 1},}}")


@dataclass(frozen=True)
class Fault:
    """One thing to change: the key, and why."""

    path: Key
    reason: str
    given: tuple[Key, ...] = ()
    """Other keys from which this was concluded. If one of them is at fault itself, the conclusion may be wrong."""
    lacks: Key = ()
    """The missing setting that causes it; faults with the same cause share one line."""
    meant: tuple[Key, ...] = ()
    """The keys that a misspelt one may mean."""
    among: Key = ()
    """The path of the settings that the key belongs to; empty where the key is a name in a map."""
    by_names: bool = False
    """Whether it was concluded from names alone, so that other values change nothing."""

    def __str__(self) -> str:
        return _line(self.path, self.reason)


@dataclass(frozen=True)
class Note:
    """A warning: the settings can be deployed all the same."""

    path: Key
    text: str

    def __str__(self) -> str:
        return _line(self.path, self.text)


def _line(path: Key, text: str) -> str:
    # YAML lets keys hold anything.
    return f"tensorplane:{'.'.join(map(legible, path))}: {legible(text, _LONGEST_REASON)}"


def legible(text: str, at_most: int = _LONGEST_KEY) -> str:
    """Text on one line, with control characters escaped, truncated where it is too long to read."""
    escaped = "".join(each if each.isprintable() else repr(each)[1:-1] for each in text)
    shorter = _LONG_WORD.sub(lambda word: f"{word[0][:_LONGEST_KEY]}…", escaped)
    return shorter if len(shorter) <= at_most else f"{shorter[:at_most]}…"


def stop(faults: Iterable[Fault | str]) -> None:
    """End the program with every fault, a line each; return when there is none. Pulumi exits with 1, no traceback."""
    lines = dict.fromkeys(str(fault) for fault in faults)
    if lines:
        raise pulumi.RunError("\n".join(lines))


def without_consequences(faults: Iterable[Fault], causes: Sequence[Fault]) -> Iterator[Fault]:
    """The faults that were not concluded from settings with other faults."""
    doubtful = [cause.path for cause in causes]
    for fault in faults:
        if not any(overlap(path, cause) for path in fault.given for cause in doubtful):
            yield fault


def certain(faults: Iterable[Fault], unread: Collection[Key]) -> Iterator[Fault]:
    """The faults that do not depend on encrypted values."""
    concerned = [_concerned(path) for path in unread]
    for fault in faults:
        doubtful = unread if fault.by_names else concerned
        if not any(overlap(at, one) for at in (fault.path, *fault.given) for one in doubtful):
            yield fault


def _concerned(path: Key) -> Key:
    """The settings whose faults may depend on a value: its workload, volume, …; everything for a cluster's."""
    if path[2:3] == ("env",):
        return path
    return () if path[0] == "cluster" else path[:2]


def hiding(faults: Iterable[Fault], secret: Collection[Key], words: Collection[str]) -> Iterator[Fault]:
    """The faults, without the text of those that would reveal a secret value or a part of one."""
    revealing = re.compile("|".join(rf"(?<!\w){re.escape(word)}(?!\w)" for word in words) or "(?!)")
    for fault in faults:
        secrets = [above for path in (fault.path, *fault.given) if (above := below(path, secret))]
        if secrets:
            yield _hidden(min(secrets))
        elif revealing.search(fault.reason):
            yield Fault(
                fault.path, "conflicts with an encrypted value; the details would show that value, so they are hidden"
            )
        else:
            yield fault


def _hidden(key: Key) -> Fault:
    return Fault(key, "invalid secret value; the details would show it, so they are hidden")


def below(path: Key, keys: Iterable[Key]) -> Key | None:
    """The first of these keys that is the path or contains it."""
    return next((key for key in keys if path[: len(key)] == key), None)


def setting_names() -> set[str]:
    """The names of all settings, of all models."""
    models = [Model]
    for model in models:
        models += model.__subclasses__()
    return {field.alias or name for model in models for name, field in model.model_fields.items()}


def overlap(one: Key, other: Key) -> bool:
    """Whether one of two keys is, or is inside, the other."""
    length = min(len(one), len(other))
    return one[:length] == other[:length]


def unknown_name(path: Key, what: str, name: str, known: Iterable[str]) -> Fault:
    """The fault of a reference to something that the settings do not declare under `<what>s`."""
    # Names that are refused where they are declared are not suggested.
    have = sorted(each for each in known if is_name(each))
    remedy = f"choose one of {', '.join(have)}" if have else f"declare one under {what}s"
    key = (f"{what}s", name)
    reason = f"no {what} is named {name!r}; {remedy}{did_you_mean(name, have)}"
    return Fault(path, reason, given=(key,), lacks=key if have else key[:1], by_names=True)


def of_validation(
    error: ValidationError, model: type[Model], secret: Collection[Key], tree: Mapping[str, Any]
) -> list[Fault]:
    """The faults in a validation error of a tree. `secret` has the keys whose values must not be shown."""
    details = [detail for detail in details_of(error) if not left_to_pulumi(detail)]
    places = [(detail, Place.of(model, detail["loc"], tree)) for detail in details]
    # The correct name of a misspelt key is not reported as missing, too.
    meant = {key for detail, place in places if detail["type"] == "extra_forbidden" for key in place.meant()}
    found: dict[Key, Fault] = {}
    combined: set[Key] = set()
    elsewhere = {place.path for detail, place in places if _moved(detail, place)}
    for detail, place in places:
        if detail["type"] == "missing" and (place.path in meant or place.is_foreign()):
            continue
        if detail["type"] == "too_short" and any(place.path == other.path[:-1] for _, other in places):
            # Invalid items are reported, not a list that is too short without them.
            continue
        alike = [each for each in places if each[1].path not in elsewhere]
        several = None if place.path in elsewhere else _of_several(detail, place, alike)
        combined |= {several.path} if several else set()
        fault = _moved(detail, place) or several or _fault(detail, place)
        above = below(fault.path, secret)
        if above and (above != fault.path or detail["type"] != "extra_forbidden"):
            fault = _hidden(above)
        found.setdefault(fault.path, fault)
    return [
        fault
        for path, fault in found.items()
        if path in elsewhere or not any(path[: len(key)] == key != path for key in combined)
    ]


def details_of(error: ValidationError) -> list[ErrorDetails]:
    """pydantic's errors, without those of In[T]'s second type: "is not an Output" means nothing to authors of YAML."""
    return [detail for detail in error.errors(include_url=False) if detail["type"] != "is_instance_of"]


def left_to_pulumi(detail: ErrorDetails) -> bool:
    """Whether the value is unknown here because it is encrypted."""
    value, kind = detail["input"], detail["type"]
    if kind.startswith("union_tag"):
        value = value.get("kind") if isinstance(value, Mapping) else value
    if kind == "too_short":
        return isinstance(value, list) and ENCRYPTED in value
    return value is ENCRYPTED and kind != "extra_forbidden"


def _fault(detail: ErrorDetails, place: Place) -> Fault:
    if detail["type"] in ("union_tag_invalid", "union_tag_not_found"):
        return Fault((*place.path, "kind"), _reason(detail, place), among=place.path)
    meant = place.meant() if detail["type"] == "extra_forbidden" else ()
    among = place.path[:-1] if place.around else ()
    return Fault(place.path, _reason(detail, place), meant=meant if len(meant) > 1 else (), among=among)


def _moved(detail: ErrorDetails, place: Place) -> Fault | None:
    """The fault of a key that has moved. Faults caused by the new key's absence are omitted."""
    moved = place.moved(detail["input"]) if detail["type"] == "extra_forbidden" else None
    return Fault(place.path, moved.text, meant=(moved.to,)) if moved else None


def _of_several(detail: ErrorDetails, place: Place, places: Sequence[tuple[ErrorDetails, Place]]) -> Fault | None:
    """One fault for a map of the wrong kind: all of its keys are unknown, or none of its values is a map."""
    parent = place.path[:-1]
    alike = [other for each, other in places if each["type"] == detail["type"] and other.path[:-1] == parent]
    empty = detail["type"] in _NO_MAP and place.around is None and len(alike) == len(place.given)
    if empty and len(alike) == 1:
        # The map declares no name that others could refer to.
        return Fault(place.path, _reason(detail, place), meant=(parent,))
    if not parent or len(alike) < 2:
        return None
    names = _listed([other.path[-1] for other in alike], "and")
    foreign = place.given.isdisjoint(place.allowed()) or not any(other.meant() for other in alike)
    if detail["type"] == "extra_forbidden" and foreign:
        return Fault(parent, f"unknown settings {names}; allowed here: {', '.join(place.allowed())}", among=parent)
    if empty:
        return Fault(parent, f"{names} are not maps; write each as a map of settings")
    return None


def _reason(detail: ErrorDetails, place: Place) -> str:
    describe = _REASONS.get(detail["type"])
    if describe is not None:
        return describe(detail, place)
    allowed = _ALLOWED.get(detail["type"])
    if allowed is None:
        return f"invalid value {_shown(detail['input'])}; {detail['msg']}"
    return _invalid(_shown(detail["input"]), allowed.format(**detail.get("ctx", {})))


def _invalid(shown: str, allowed: str) -> str:
    return f"invalid value {shown}; use {allowed}"


def _shown(value: object) -> str:
    if isinstance(value, Mapping):
        return "(a map)"
    if isinstance(value, list):
        return "(a list)"
    if isinstance(value, bool):
        return str(value).lower()
    text = "(empty)" if value is None else repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def _unknown_key(detail: ErrorDetails, place: Place) -> str:
    names = [key[-1] for key in place.meant()] or place.allowed()
    near = did_you_mean(place.path[-1], names) or _meant_as_kind(place.path[-1], place)
    return f"unknown setting; allowed here: {', '.join(place.allowed())}{near}"


def _meant_as_kind(key: str, place: Place) -> str:
    """A suggestion for a key that is the kind of a variant."""
    for name, field in fields(place.around):
        if key in variants(field.annotation):
            return f" (did you mean {field.alias or name}: {{kind: {key}}}?)"
    return ""


def _no_map(detail: ErrorDetails, place: Place) -> str:
    """A variant is often written as its kind alone."""
    given = detail["input"]
    field = next((field for name, field in fields(place.around) if place.path[-1] in (name, field.alias)), None)
    near = nearest(given, variants(field.annotation)) if field and isinstance(given, str) else []
    return _invalid(_shown(given), f"a map of settings{f' (did you mean {{kind: {near[0]}}}?)' if near else ''}")


def _no_number(detail: ErrorDetails, place: Place) -> str:
    """The unit is part of the key, not of the value."""
    near = _meant(meant_value.number(detail["input"], place.path[-1]))
    return _invalid(_shown(detail["input"]), f"a number{near}")


def _no_whole_number(detail: ErrorDetails, place: Place) -> str:
    near = _meant(meant_value.number(detail["input"], place.path[-1], integer=True))
    return _invalid(_shown(detail["input"]), f"a whole number{near}")


def _no_boolean(detail: ErrorDetails, place: Place) -> str:
    return _invalid(_shown(detail["input"]), f"true or false{_meant(meant_value.boolean(detail['input']))}")


def _too_few(detail: ErrorDetails, place: Place) -> str:
    least = detail["ctx"]["min_length"]
    if isinstance(detail["input"], Mapping):
        return f"empty map; use a map of at least {least}"
    return _invalid(_shown(detail["input"]), f"a list of at least {least}")


def _meant(value: str) -> str:
    return f" (did you mean {value}?)" if value else ""


def _missing(detail: ErrorDetails, place: Place) -> str:
    around = place.around
    name = next((name for name, field in fields(around) if place.path[-1] in (name, field.alias)), None)
    meaning = _FIRST_SENTENCE.match(" ".join(field_docs.of(around, name).split())) if around and name else None
    return f"required setting is missing{': ' + meaning[1] if meaning else ''}"


def choices(detail: ErrorDetails) -> list[str]:
    """The values that a choice allows; none where the detail is about something else."""
    key = {"literal_error": "expected", "union_tag_invalid": "expected_tags"}.get(detail["type"])
    return [option.strip("' ") for option in detail["ctx"][key].replace(" or ", ",").split(",")] if key else []


def _choice(detail: ErrorDetails, place: Place) -> str:
    allowed = choices(detail)
    return _invalid(_shown(detail["input"]), f"{_listed(allowed, 'or')}{did_you_mean(detail['input'], allowed)}")


def _kind(detail: ErrorDetails, place: Place) -> str:
    allowed, tag = choices(detail), detail["ctx"]["tag"]
    return _invalid(repr(tag), f"{_listed(allowed, 'or')}{did_you_mean(tag, allowed)}")


def _no_kind(detail: ErrorDetails, place: Place) -> str:
    return "required setting is missing: it selects which other settings apply"


def _refused(detail: ErrorDetails, place: Place) -> str:
    near = detail["ctx"]["near"]
    suggestion = f" (did you mean {near}?)" if near else ""
    given, allowed = detail["input"], f"{detail['ctx']['allowed']}{suggestion}"
    if not isinstance(given, Mapping):
        return _invalid(_shown(given), allowed)
    # A map is refused because of its combination of keys.
    problem = f"{_listed([*map(str, given)], 'and')} {'is' if len(given) == 1 else 'are'} set" if given else "empty map"
    return f"{problem}; use {allowed}"


def _listed(names: list[str], word: str) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} {word} {names[-1]}"


_NO_MAP = ("model_type", "model_attributes_type")
_REASONS: dict[str, Callable[[ErrorDetails, Place], str]] = {
    "extra_forbidden": _unknown_key,
    "missing": _missing,
    "literal_error": _choice,
    "union_tag_invalid": _kind,
    "union_tag_not_found": _no_kind,
    **dict.fromkeys(_NO_MAP, _no_map),
    "float_parsing": _no_number,
    "float_type": _no_number,
    **dict.fromkeys(("int_parsing", "int_type"), _no_whole_number),
    **dict.fromkeys(("bool_parsing", "bool_type"), _no_boolean),
    "refused": _refused,
    "too_short": _too_few,
}
_ALLOWED = {
    "int_from_float": "a whole number",
    "finite_number": "a finite number",
    "string_type": "text (quote it if it looks like a number or boolean)",
    "list_type": "a list",
    "tuple_type": "a list",
    "dict_type": "a map of settings",
    "greater_than": "more than {gt:,.12g}",
    "greater_than_equal": "{ge:,.12g} or more",
    "less_than": "less than {lt:,.12g}",
    "less_than_equal": "{le:,.12g} or less",
    "too_long": "a list of at most {max_length}",
    "string_too_short": "some text",
    "string_too_long": "at most {max_length} characters",
}
