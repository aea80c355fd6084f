"""Faults in the settings: each one line that names the key, what was found there and what is allowed."""

import difflib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin

import pulumi
from pydantic import ValidationError
from pydantic_core import ErrorDetails

from components import meaning
from components.family import Variant
from components.model import Model

_SHOWN = 60

Key = tuple[str, ...]
"""A key below `tensorplane:`, from the outermost inwards."""


@dataclass(frozen=True)
class Fault:
    """One thing to change: the key, and why."""

    path: Key
    reason: str
    given: tuple[Key, ...] = ()
    """Other keys that this was concluded from. Where one of them is at fault itself, the conclusion may be wrong."""

    def __str__(self) -> str:
        # Keys are told as they were written, and YAML lets them hold anything.
        return " ".join(f"tensorplane:{'.'.join(self.path)}: {self.reason}".splitlines())


def stop(faults: Iterable[Fault]) -> None:
    """End the program with every fault, a line each; return when there is none. Pulumi exits with 1, no traceback."""
    lines = dict.fromkeys(str(fault) for fault in faults)
    if lines:
        raise pulumi.RunError("\n".join(lines))


def without_consequences(faults: Iterable[Fault], causes: Sequence[Fault]) -> Iterator[Fault]:
    """The faults that were not concluded from what other faults are about."""
    doubtful = [cause.path for cause in causes]
    for fault in faults:
        if not any(_overlap(path, cause) for path in fault.given for cause in doubtful):
            yield fault


def hiding(faults: Iterable[Fault], secret: frozenset[str]) -> Iterator[Fault]:
    """The faults, without the text of those that tell what is below a secret top-level key."""
    for fault in faults:
        told = {path[0] for path in (fault.path, *fault.given)} & secret
        yield _hidden(min(told)) if told else fault


def _hidden(key: str) -> Fault:
    return Fault((key,), "something in this secret value is not allowed; its text is not shown")


def _overlap(one: Key, other: Key) -> bool:
    length = min(len(one), len(other))
    return one[:length] == other[:length]


def did_you_mean(value: object, allowed: Iterable[str]) -> str:
    """` (did you mean X?)` with the nearest allowed value, or nothing where none is near."""
    near = _nearest(value, allowed)
    return f" (did you mean {near}?)" if near else ""


def _nearest(value: object, allowed: Iterable[str]) -> str | None:
    by_lower = {option.lower(): option for option in allowed}
    near = difflib.get_close_matches(str(value).lower(), by_lower, n=1)
    return by_lower[near[0]] if near else None


def unknown_name(path: Key, what: str, name: str, known: Iterable[str]) -> Fault:
    """The fault of a reference to something that the settings do not declare under `<what>s`."""
    have = sorted(known)
    listed = f"have {', '.join(have)}" if have else f"there is no {what}"
    return Fault(path, f"no {what} named {name!r}, {listed}{did_you_mean(name, have)}", given=((f"{what}s", name),))


def of_validation(error: ValidationError, model: type[Model], secret: frozenset[str]) -> list[Fault]:
    """The faults in a validation error. `secret` names the top-level keys whose values must not be shown."""
    # The other half of In[T] is left out: "is not an Output" says nothing to people who write YAML.
    details = [detail for detail in error.errors(include_url=False) if detail["type"] != "is_instance_of"]
    misspelt = {_meant(Place.of(model, detail["loc"])) for detail in details if detail["type"] == "extra_forbidden"}
    found: dict[Key, Fault] = {}
    for detail in details:
        if detail["type"] != "missing" or Place.of(model, detail["loc"]).path not in misspelt:
            fault = _fault(detail, model, secret)
            found.setdefault(fault.path, fault)
    return list(found.values())


def _meant(place: "Place") -> Key | None:
    """The key that a misspelt one stands for: that one is not missing as well."""
    near = _nearest(place.path[-1], place.allowed())
    return (*place.path[:-1], near) if near else None


def _fault(detail: ErrorDetails, root: type[Model], secret: frozenset[str]) -> Fault:
    place = Place.of(root, detail["loc"])
    path = place.path
    if path[0] in secret and (len(path) > 1 or detail["type"] != "extra_forbidden"):
        return _hidden(path[0])
    if detail["type"] in ("union_tag_invalid", "union_tag_not_found"):
        path = (*path, "kind")
    return Fault(path, _reason(detail, place))


@dataclass(frozen=True)
class Place:
    """Where in the settings an error is: the path as people write it, and the model around its last key."""

    path: Key
    around: type[Model] | None

    def allowed(self) -> list[str]:
        """The keys that the model around knows, as people write them."""
        return sorted(field.alias or name for name, field in _fields(self.around))

    @classmethod
    def of(cls, root: type[Model], location: tuple[int | str, ...]) -> "Place":
        """Follow a pydantic location through the models, leaving out its marks for union members and dict keys."""
        path: list[str] = []
        around: type[Model] | None = None
        here: Any = root
        for part in location:
            options = list(_options(here))
            variant = _variant(options, part)
            if variant is not None:
                here = variant
                continue
            container = next((option for option in options if _is_container(option)), None)
            if container is None or part == "[key]":
                continue
            path.append(str(part))
            around = container if _is_model(container) else None
            here = _inside(container, str(part))
        return cls(tuple(path), around)


def _options(annotation: Any) -> Iterator[Any]:
    """The types that an annotation allows, without None and what Annotated adds."""
    origin = get_origin(annotation)
    if origin is Annotated:
        yield from _options(get_args(annotation)[0])
    elif origin in (Union, UnionType):
        for option in get_args(annotation):
            yield from _options(option)
    elif annotation is not NoneType:
        yield annotation


def _is_model(option: Any) -> bool:
    return isinstance(option, type) and issubclass(option, Model)


def _is_container(option: Any) -> bool:
    return _is_model(option) or get_origin(option) in (dict, list, tuple)


def _variant(options: list[Any], part: int | str) -> type[Model] | None:
    """The model that a part of a location stands for where it is a union's tag, the `kind` of one of its models."""
    models: list[type[Model]] = [option for option in options if _is_model(option)]
    for model in models:
        if issubclass(model, Variant) and model.is_family:
            if part in model.variants:
                return model.variants[str(part)]
        elif len(models) > 1 and "kind" in model.model_fields and model.model_fields["kind"].default == part:
            return model
    return None


def _inside(container: Any, key: str) -> Any:
    if _is_model(container):
        return next((f.annotation for n, f in container.model_fields.items() if key in (n, f.alias)), None)
    arguments = get_args(container)
    # A list's items, of which a tuple's type says no number, or a map's values.
    return arguments[1] if get_origin(container) is dict else arguments[0]


def _reason(detail: ErrorDetails, place: Place) -> str:
    describe = _REASONS.get(detail["type"])
    if describe is not None:
        return describe(detail, place)
    need = _NEEDS.get(detail["type"])
    if need is None:
        return f"got {_shown(detail['input'])}: {detail['msg']}"
    return f"got {_shown(detail['input'])}, need {need.format(**detail.get('ctx', {}))}"


def _shown(value: object) -> str:
    if isinstance(value, Mapping):
        return "a map"
    if isinstance(value, list):
        return "a list"
    if isinstance(value, bool):
        return str(value).lower()
    text = "nothing" if value is None else repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def _unknown_key(detail: ErrorDetails, place: Place) -> str:
    allowed, key = place.allowed(), place.path[-1]
    near = did_you_mean(key, allowed) or _meant_as_kind(key, place)
    return f"unknown setting, allowed here: {', '.join(allowed)}{near}"


def _meant_as_kind(key: str, place: Place) -> str:
    """A key that is the name of a variant: under which setting that is chosen."""
    for name, field in _fields(place.around):
        if key in _variants(field.annotation):
            return f" (did you mean {field.alias or name}: {{kind: {key}}}?)"
    return ""


def _variants(annotation: Any) -> Mapping[str, type[Model]]:
    """The variants of the family that an annotation allows, by kind; none where it is no family."""
    families = [option for option in _options(annotation) if isinstance(option, type) and issubclass(option, Variant)]
    return next((option.variants for option in families if option.is_family), {})


def _no_map(detail: ErrorDetails, place: Place) -> str:
    """A variant is often written as its kind alone."""
    given = detail["input"]
    field = next((field for name, field in _fields(place.around) if place.path[-1] in (name, field.alias)), None)
    near = _nearest(given, _variants(field.annotation)) if field and isinstance(given, str) else None
    return f"got {_shown(given)}, need a map of settings{f' (did you mean {{kind: {near}}}?)' if near else ''}"


def _no_number(detail: ErrorDetails, place: Place) -> str:
    """Where the key says the unit, the value does not."""
    unit = re.fullmatch(r"([0-9.]+) ?(Gi|GiB|G|GB)", str(detail["input"]))
    near = f" (did you mean {unit[1]}?)" if unit and place.path[-1].lower().endswith("gib") else ""
    return f"got {_shown(detail['input'])}, need a number{near}"


def _missing(detail: ErrorDetails, place: Place) -> str:
    around = place.around
    name = next((name for name, field in _fields(around) if place.path[-1] in (name, field.alias)), None)
    told = meaning.of(around, name).split("\n")[0] if around and name else ""
    return f"missing, it is required{': ' + told if told else ''}".rstrip(".")


def _fields(model: type[Model] | None) -> Iterable[tuple[str, Any]]:
    return model.model_fields.items() if model else ()


def _choice(detail: ErrorDetails, place: Place) -> str:
    allowed = [option.strip("' ") for option in detail["ctx"]["expected"].replace(" or ", ",").split(",")]
    return f"got {_shown(detail['input'])}, need {_any_of(allowed)}{did_you_mean(detail['input'], allowed)}"


def _kind(detail: ErrorDetails, place: Place) -> str:
    allowed = [option.strip("' ") for option in detail["ctx"]["expected_tags"].split(",")]
    tag = detail["ctx"]["tag"]
    return f"got {tag!r}, need {_any_of(allowed)}{did_you_mean(tag, allowed)}"


def _no_kind(detail: ErrorDetails, place: Place) -> str:
    return "missing, it is required: which kind this is"


def _refused(detail: ErrorDetails, place: Place) -> str:
    near = detail["ctx"]["near"]
    suggestion = f" (did you mean {near}?)" if near else ""
    given = detail["input"]
    # A map is refused as a whole for the keys that it has.
    shown = _shown(given) if not isinstance(given, Mapping) else " and ".join(map(str, given)) or "an empty map"
    return f"got {shown}, need {detail['ctx']['need']}{suggestion}"


def _any_of(options: list[str]) -> str:
    return options[0] if len(options) == 1 else f"{', '.join(options[:-1])} or {options[-1]}"


_REASONS: dict[str, Callable[[ErrorDetails, Place], str]] = {
    "extra_forbidden": _unknown_key,
    "missing": _missing,
    "literal_error": _choice,
    "union_tag_invalid": _kind,
    "union_tag_not_found": _no_kind,
    "model_type": _no_map,
    "model_attributes_type": _no_map,
    "float_parsing": _no_number,
    "float_type": _no_number,
    "need": _refused,
}
_NEEDS = {
    "int_parsing": "a whole number",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "finite_number": "a finite number",
    "bool_parsing": "true or false",
    "bool_type": "true or false",
    "string_type": "text (quote it if it looks like a number)",
    "list_type": "a list",
    "tuple_type": "a list",
    "dict_type": "a map of settings",
    "greater_than": "more than {gt:,.12g}",
    "greater_than_equal": "at least {ge:,.12g}",
    "less_than": "less than {lt:,.12g}",
    "less_than_equal": "at most {le:,.12g}",
    "too_short": "at least {min_length} of them",
    "string_too_short": "some text",
}
