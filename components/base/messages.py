"""The messages of pydantic's errors: the problem of a value of the settings, and what to do."""

import re
from collections.abc import Callable, Mapping

from pydantic_core import ErrorDetails

from tensorplane.components.base import field_docs, suggestions
from tensorplane.components.base.location import Location, fields, is_valid
from tensorplane.components.base.type_hints import variants
from tensorplane.stack_file import PROJECT
from tensorplane.stack_file.file_problems import some
from tensorplane.stack_file.nearest import did_you_mean, nearest

_MOST_CHARACTERS = 60
_WRAPPERS = ("config", PROJECT)
"""Keys under which all settings are put by mistake."""
_KEY_AND_VALUE = re.compile(r"([A-Za-z][\w.-]*?) *[:=\uff1a] *([\w./-]+)")
_PLAIN_ITEM = re.compile(r"[A-Za-z][\w.:/@-]*")
_FIRST_SENTENCE = re.compile(r"(.+?)(?:\.(?= )|\.?$)")


def describe(detail: ErrorDetails, location: Location) -> str:
    """The problem of a value, and what to do."""
    if describe_type := _DESCRIBE.get(detail["type"]):
        return describe_type(detail, location)
    allowed = _ALLOWED.get(detail["type"])
    if allowed is None:
        return f"invalid value {_shown(detail['input'], location)}; {detail['msg']}"
    limits = {name: _with_commas(limit) for name, limit in detail.get("ctx", {}).items()}
    return _invalid(_shown(detail["input"], location), allowed.format(**limits))


def _with_commas(limit: object) -> str:
    return f"{limit:,}" if isinstance(limit, int) else f"{limit:,.12g}" if isinstance(limit, float) else str(limit)


def _invalid(shown: str, allowed: str) -> str:
    return f"invalid value {shown}; use {allowed}"


def _shown(value: object, location: Location) -> str:
    """A value as the file has it, on one line."""
    if location.written:
        return location.written
    if isinstance(value, Mapping):
        return "(a map)"
    if isinstance(value, list):
        return "(a list)"
    if isinstance(value, bool):
        return str(value).lower()
    text = "(empty)" if value is None else repr(value)
    return text if len(text) <= _MOST_CHARACTERS else f"{text[:_MOST_CHARACTERS]}…"


def _unknown_key(detail: ErrorDetails, location: Location) -> str:
    if location.path[-1:] == location.path and location.key in _WRAPPERS and isinstance(detail["input"], Mapping):
        first = next(iter(detail["input"]), "volumes").removeprefix(f"{PROJECT}:")
        return f"unknown setting; move its keys up beside it, with their prefix, such as {PROJECT}:{first}"
    names = [key[-1] for key in location.suggestions] or location.allowed()
    near = (
        "" if location.is_misplaced else _suggest(", ".join(location.other_paths)) or did_you_mean(location.key, names)
    )
    near = near or _suggest_kind(location.key, location)
    return f"unknown setting; allowed here: {', '.join(location.allowed())}{near}"


def _suggest_kind(key: str, location: Location) -> str:
    """A suggestion for a key that is the kind of a variant."""
    for name, field in fields(location.model):
        if key in variants(field.annotation):
            return f" (did you mean {field.alias or name}: {{kind: {key}}}?)"
    return ""


def _no_map(detail: ErrorDetails, location: Location) -> str:
    """A variant is often written as its kind alone."""
    given = detail["input"]
    written = _key_and_value(given)
    if written and any(
        written[1] == (field.alias or name) for model, _ in location.expected for name, field in fields(model)
    ):
        return _invalid(_shown(given, location), f"a map of settings{_suggest(f'{{{written[1]}: {written[2]}}}')}")
    field = next((field for name, field in fields(location.model) if location.path[-1] in (name, field.alias)), None)
    kinds = nearest(given, variants(field.annotation)) if field and isinstance(given, str) else []
    near = f"{{kind: {kinds[0]}}}" if kinds else _only_setting(given, location)
    return _invalid(_shown(given, location), f"a map of settings{_suggest(near)}")


def _only_setting(given: object, location: Location) -> str:
    """A map that says the same as the value of its only required setting; `{}` for true where it requires none."""
    if len(location.expected) != 1:
        return ""
    ((model, _),) = location.expected
    required = [info.alias or name for name, info in fields(model) if info.is_required()]
    if not required:
        return "{}" if given is True else ""
    for value in (given, [given]) if len(required) == 1 else ():
        if is_valid(model, {required[0]: value}):
            return f"{{{required[0]}: {'[…]' if isinstance(value, list) else '…'}}}"
    return ""


def _key_and_value(given: object) -> re.Match[str] | None:
    """A map of one key, written as text: without a space after its colon, or with another sign."""
    return _KEY_AND_VALUE.fullmatch(given) if isinstance(given, str) else None


def _no_list(detail: ErrorDetails, location: Location) -> str:
    """One item is often written without its list, and several as one text."""
    given = detail["input"]
    near = ""
    if isinstance(given, str):
        items = re.split(r"[\s,]+", given.strip())
        near = f"[{', '.join(items)}]" if all(map(_PLAIN_ITEM.fullmatch, items)) and location.accepts(items) else ""
    if not near and str(given).isdecimal() and location.accepts([int(str(given))]):
        near = f"[{given}]"
    elif isinstance(given, Mapping) and location.accepts([given]):
        near = f"[{{{next(iter(given))}: …}}]"
    return _invalid(_shown(given, location), f"a list{_suggest(near)}")


def _no_dict(detail: ErrorDetails, location: Location) -> str:
    given = detail["input"]
    written = _key_and_value(given)
    if written and location.accepts({written[1]: written[2]}):
        return _invalid(_shown(given, location), f"a map of settings{_suggest(f'{{{written[1]}: {written[2]}}}')}")
    what = "a map, which has a name for each entry" if isinstance(given, list) else "a map of settings"
    return _invalid(_shown(given, location), what)


def _no_number(detail: ErrorDetails, location: Location) -> str:
    """The unit is part of the key, not of the value."""
    near = _accepted(suggestions.number(detail["input"], location.path[-1]), location)
    return _invalid(_shown(detail["input"], location), f"a number{near}")


def _no_whole_number(detail: ErrorDetails, location: Location) -> str:
    near = _accepted(suggestions.number(detail["input"], location.path[-1], integer=True), location)
    return _invalid(_shown(detail["input"], location), f"a whole number{near}")


def _no_boolean(detail: ErrorDetails, location: Location) -> str:
    return _invalid(_shown(detail["input"], location), f"true or false{_suggest(suggestions.boolean(detail['input']))}")


def _too_few(detail: ErrorDetails, location: Location) -> str:
    least = detail["ctx"]["min_length"]
    if isinstance(detail["input"], Mapping):
        return f"empty map; use a map of at least {least}"
    return _invalid(_shown(detail["input"], location), f"a list of at least {least}")


def _suggest(value: str) -> str:
    return f" (did you mean {value}?)" if value else ""


def _accepted(number: str, location: Location) -> str:
    """The suggestion of a number, unless the setting refuses that one, too."""
    return _suggest(number) if number and location.accepts(float(number)) else ""


def _missing(detail: ErrorDetails, location: Location) -> str:
    model = location.model
    name = next((name for name, field in fields(model) if location.path[-1] in (name, field.alias)), None)
    meaning = _FIRST_SENTENCE.match(" ".join(field_docs.docstring(model, name).split())) if model and name else None
    return f"required setting is missing{': ' + meaning[1] if meaning else ''}"


def allowed_values(detail: ErrorDetails) -> list[str]:
    """The values that a choice allows; none where the detail is about something else."""
    key = {"literal_error": "expected", "union_tag_invalid": "expected_tags"}.get(detail["type"])
    return [option.strip("' ") for option in detail["ctx"][key].replace(" or ", ",").split(",")] if key else []


def _choice(detail: ErrorDetails, location: Location) -> str:
    allowed, given = allowed_values(detail), detail["input"]
    near = did_you_mean(given, allowed)
    if "'" in detail["ctx"]["expected"] and isinstance(given, int | float):
        # A number of these digits is another value than the text.
        near = _suggest(" or ".join(f'"{name}"' for name in nearest(given, allowed)))
    return _invalid(_shown(given, location), f"{join_all(allowed, 'or')}{near}")


def _kind(detail: ErrorDetails, location: Location) -> str:
    allowed, given = allowed_values(detail), detail["input"]
    given = given.get("kind") if isinstance(given, Mapping) else detail["ctx"]["tag"]
    return _invalid(_shown(given, location), f"{join_all(allowed, 'or')}{did_you_mean(given, allowed)}")


def _no_kind(detail: ErrorDetails, location: Location) -> str:
    kinds = sorted(kind for _, kind in location.expected)
    allowed = f"; use {join_all(kinds, 'or')}" if kinds else ""
    return f"required setting is missing: it selects which other settings apply{allowed}"


def _refused(detail: ErrorDetails, location: Location) -> str:
    near = detail["ctx"]["near"]
    suggestion = f" (did you mean {near}?)" if near else ""
    given, allowed = detail["input"], f"{detail['ctx']['allowed']}{suggestion}"
    if not isinstance(given, Mapping):
        return _invalid(_shown(given, location), allowed)
    # A map is refused because of its combination of keys.
    problem = f"{some([*map(str, given)], 'and')} {'is' if len(given) == 1 else 'are'} set" if given else "empty map"
    return f"{problem}; use {allowed}"


def join_all(names: list[str], word: str) -> str:
    """All of them, as a sentence has them."""
    return some(names, word, most=len(names))


NO_MAP = ("model_type", "model_attributes_type")
"""pydantic's errors of values that are no maps."""
_DESCRIBE: dict[str, Callable[[ErrorDetails, Location], str]] = {
    "extra_forbidden": _unknown_key,
    "missing": _missing,
    "literal_error": _choice,
    "union_tag_invalid": _kind,
    "union_tag_not_found": _no_kind,
    **dict.fromkeys(NO_MAP, _no_map),
    "float_parsing": _no_number,
    "float_type": _no_number,
    **dict.fromkeys(("int_parsing", "int_type"), _no_whole_number),
    **dict.fromkeys(("bool_parsing", "bool_type"), _no_boolean),
    "refused": _refused,
    **dict.fromkeys(("list_type", "tuple_type"), _no_list),
    "too_short": _too_few,
    "dict_type": _no_dict,
}
_ALLOWED = {
    "int_from_float": "a whole number",
    "finite_number": "a finite number",
    "string_type": "text (quote it if it looks like a number or boolean)",
    "greater_than": "more than {gt}",
    "greater_than_equal": "{ge} or more",
    "less_than": "less than {lt}",
    "less_than_equal": "{le} or less",
    "too_long": "a list of at most {max_length}",
    "string_too_short": "some text",
    "string_too_long": "at most {max_length} characters",
}
