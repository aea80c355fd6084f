"""Faults in the settings: each one line that names the key, what was found there and what is allowed."""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin

import pulumi
from pydantic import ValidationError
from pydantic_core import ErrorDetails

from components import meaning
from components.family import Variant
from components.model import Model, is_name
from nearest import did_you_mean as did_you_mean
from nearest import nearest
from stack_file import ENCRYPTED

_SHOWN = 60
_LONGEST_KEY = 200
_LONGEST_REASON = 2000
_LONG_WORD = re.compile(rf"\S{{{_LONGEST_KEY + 1},}}")

Key = tuple[str, ...]
"""A key below `tensorplane:`, from the outermost inwards."""


@dataclass(frozen=True)
class Fault:
    """One thing to change: the key, and why."""

    path: Key
    reason: str
    given: tuple[Key, ...] = ()
    """Other keys that this was concluded from. Where one of them is at fault itself, the conclusion may be wrong."""
    lacks: Key = ()
    """A setting that is not there, where that is all that is wrong: whatever else lacks it is told in the same line."""
    meant: tuple[Key, ...] = ()
    """The keys that a misspelt one may stand for."""
    among: Key = ()
    """The settings that the key is one of; empty where it is a name of a map."""
    by_names: bool = False
    """Whether it was concluded from names alone, so that other values change nothing."""

    def __str__(self) -> str:
        return _line(self.path, self.reason)


@dataclass(frozen=True)
class Note:
    """Something to know of settings that can be built all the same."""

    path: Key
    text: str

    def __str__(self) -> str:
        return _line(self.path, self.text)


def _line(path: Key, text: str) -> str:
    # Keys are told as they were written, and YAML lets them hold anything.
    return f"tensorplane:{'.'.join(map(legible, path))}: {legible(text, _LONGEST_REASON)}"


def legible(text: str, at_most: int = _LONGEST_KEY) -> str:
    """Text on one line, its control characters escaped, cut where it is too long to be read."""
    escaped = "".join(each if each.isprintable() else repr(each)[1:-1] for each in text)
    shorter = _LONG_WORD.sub(lambda word: f"{word[0][:_LONGEST_KEY]}…", escaped)
    return shorter if len(shorter) <= at_most else f"{shorter[:at_most]}…"


def stop(faults: Iterable[Fault | str]) -> None:
    """End the program with every fault, a line each; return when there is none. Pulumi exits with 1, no traceback."""
    lines = dict.fromkeys(str(fault) for fault in faults)
    if lines:
        raise pulumi.RunError("\n".join(lines))


def without_consequences(faults: Iterable[Fault], causes: Sequence[Fault]) -> Iterator[Fault]:
    """The faults that were not concluded from what other faults are about."""
    doubtful = [cause.path for cause in causes]
    for fault in faults:
        if not any(overlap(path, cause) for path in fault.given for cause in doubtful):
            yield fault


def certain(faults: Iterable[Fault], unread: Collection[Key]) -> Iterator[Fault]:
    """The faults that hold whatever the values are that Pulumi alone can read."""
    concerned = [_concerned(path) for path in unread]
    for fault in faults:
        doubtful = unread if fault.by_names else concerned
        if not any(overlap(at, one) for at in (fault.path, *fault.given) for one in doubtful):
            yield fault


def _concerned(path: Key) -> Key:
    """What may be right or wrong by a value: all of its workload, volume, …; of a cluster everything."""
    if path[2:3] == ("env",):
        return path
    return () if path[0] == "cluster" else path[:2]


def hiding(faults: Iterable[Fault], secret: Collection[Key], words: Collection[str]) -> Iterator[Fault]:
    """The faults, without the text of those that tell what is below a secret key, or one of its words."""
    telling = re.compile("|".join(rf"(?<!\w){re.escape(word)}(?!\w)" for word in words) or "(?!)")
    for fault in faults:
        told = [above for path in (fault.path, *fault.given) if (above := below(path, secret))]
        if told:
            yield _hidden(min(told))
        elif telling.search(fault.reason):
            yield Fault(fault.path, "it does not go with a value that is stored encrypted; its text is not shown")
        else:
            yield fault


def _hidden(key: Key) -> Fault:
    return Fault(key, "something in this secret value is not allowed; its text is not shown")


def below(path: Key, keys: Iterable[Key]) -> Key | None:
    """The one of these keys that the path is, or is below."""
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
    # A name that is refused where it is declared is none to choose.
    have = sorted(each for each in known if is_name(each))
    listed = f"have {', '.join(have)}" if have else f"there is no {what}"
    key = (f"{what}s", name)
    reason = f"no {what} named {name!r}, {listed}{did_you_mean(name, have)}"
    return Fault(path, reason, given=(key,), lacks=key if have else key[:1], by_names=True)


def of_validation(
    error: ValidationError, model: type[Model], secret: Collection[Key], tree: Mapping[str, Any]
) -> list[Fault]:
    """The faults in a validation error of a tree. `secret` has the keys whose values must not be shown."""
    details = [detail for detail in details_of(error) if not left_to_pulumi(detail)]
    places = [(detail, Place.of(model, detail["loc"], tree)) for detail in details]
    # A misspelt key's right name is not missing as well.
    meant = {key for detail, place in places if detail["type"] == "extra_forbidden" for key in place.meant()}
    found: dict[Key, Fault] = {}
    whole: set[Key] = set()
    for detail, place in places:
        if detail["type"] == "missing" and (place.path in meant or place.is_foreign()):
            continue
        if detail["type"] == "too_short" and any(place.path == other.path[:-1] for _, other in places):
            # What is wrong with an item is not counted.
            continue
        several = _of_several(detail, place, places)
        whole |= {several.path} if several else set()
        fault = several or _fault(detail, place)
        above = below(fault.path, secret)
        if above and (above != fault.path or detail["type"] != "extra_forbidden"):
            fault = _hidden(above)
        found.setdefault(fault.path, fault)
    return [fault for path, fault in found.items() if not any(path[: len(key)] == key != path for key in whole)]


def details_of(error: ValidationError) -> list[ErrorDetails]:
    """What pydantic says, without the other half of In[T]: "is not an Output" says nothing to people who write YAML."""
    return [detail for detail in error.errors(include_url=False) if detail["type"] != "is_instance_of"]


def left_to_pulumi(detail: ErrorDetails) -> bool:
    """Whether the value is not known here, because it is stored encrypted."""
    value, kind = detail["input"], detail["type"]
    if kind.startswith("union_tag"):
        value = value.get("kind") if isinstance(value, Mapping) else value
    if kind == "too_short":
        return isinstance(value, list) and ENCRYPTED in value
    return value is ENCRYPTED and kind != "extra_forbidden"


def _fault(detail: ErrorDetails, place: "Place") -> Fault:
    if detail["type"] in ("union_tag_invalid", "union_tag_not_found"):
        return Fault((*place.path, "kind"), _reason(detail, place), among=place.path)
    meant = place.meant() if detail["type"] == "extra_forbidden" else ()
    among = place.path[:-1] if place.around else ()
    return Fault(place.path, _reason(detail, place), meant=meant if len(meant) > 1 else (), among=among)


def _of_several(detail: ErrorDetails, place: "Place", places: Sequence[tuple[ErrorDetails, "Place"]]) -> Fault | None:
    """One fault for a map that is another's: its keys are all of them unknown, or all of their values no maps."""
    parent = place.path[:-1]
    alike = [other for each, other in places if each["type"] == detail["type"] and other.path[:-1] == parent]
    empty = detail["type"] in _NO_MAP and place.around is None and len(alike) == len(place.given)
    if empty and len(alike) == 1:
        # Nothing in the map has a name that others could refer to.
        return Fault(place.path, _reason(detail, place), meant=(parent,))
    if not parent or len(alike) < 2:
        return None
    names = _listed([other.path[-1] for other in alike], "and")
    foreign = place.given.isdisjoint(place.allowed()) or not any(other.meant() for other in alike)
    if detail["type"] == "extra_forbidden" and foreign:
        return Fault(parent, f"unknown settings {names}, allowed here: {', '.join(place.allowed())}", among=parent)
    if empty:
        return Fault(parent, f"{names} are no maps of settings")
    return None


@dataclass(frozen=True)
class Place:
    """Where in the settings an error is: the path as people write it, and the model around its last key."""

    path: Key
    around: type[Model] | None
    given: frozenset[str] = frozenset()
    """The keys of the map that it is in."""

    def meant(self) -> tuple[Key, ...]:
        """The keys that an unknown one may stand for: those near it, else the one that is missing."""
        free = set(self.allowed()) - self.given
        missing = [name for name in self.required() if name in free]
        alone = len(missing) == 1 and len(self.given - set(self.allowed())) == 1
        names = nearest(self.path[-1], free) or (missing if alone else ())
        return tuple((*self.path[:-1], name) for name in names)

    def required(self) -> list[str]:
        """The keys that the model around must have."""
        return [field.alias or name for name, field in _fields(self.around) if field.is_required()]

    def is_foreign(self) -> bool:
        """Whether the map that it is in is one of other settings: what is missing there says nothing more."""
        unknown = self.given - set(self.allowed())
        return self.around is not None and (len(unknown) > 1 or 0 < len(unknown) == len(self.given))

    def allowed(self) -> list[str]:
        """The keys that the model around knows, as people write them."""
        return sorted(field.alias or name for name, field in _fields(self.around))

    @classmethod
    def of(cls, root: type[Model], location: tuple[int | str, ...], tree: Any = None) -> "Place":
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
        for key in path[:-1]:
            tree = tree.get(key) if isinstance(tree, Mapping) else None
        return cls(tuple(path), around, frozenset(tree) if isinstance(tree, Mapping) else frozenset())


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
    names = [key[-1] for key in place.meant()] or place.allowed()
    near = did_you_mean(place.path[-1], names) or _meant_as_kind(place.path[-1], place)
    return f"unknown setting, allowed here: {', '.join(place.allowed())}{near}"


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
    near = nearest(given, _variants(field.annotation)) if field and isinstance(given, str) else []
    return f"got {_shown(given)}, need a map of settings{f' (did you mean {{kind: {near[0]}}}?)' if near else ''}"


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


def choices(detail: ErrorDetails) -> list[str]:
    """The values that a choice allows; none where the detail is about something else."""
    key = {"literal_error": "expected", "union_tag_invalid": "expected_tags"}.get(detail["type"])
    return [option.strip("' ") for option in detail["ctx"][key].replace(" or ", ",").split(",")] if key else []


def _choice(detail: ErrorDetails, place: Place) -> str:
    allowed = choices(detail)
    return f"got {_shown(detail['input'])}, need {_listed(allowed, 'or')}{did_you_mean(detail['input'], allowed)}"


def _kind(detail: ErrorDetails, place: Place) -> str:
    allowed, tag = choices(detail), detail["ctx"]["tag"]
    return f"got {tag!r}, need {_listed(allowed, 'or')}{did_you_mean(tag, allowed)}"


def _no_kind(detail: ErrorDetails, place: Place) -> str:
    return "missing, it is required: which kind this is"


def _refused(detail: ErrorDetails, place: Place) -> str:
    near = detail["ctx"]["near"]
    suggestion = f" (did you mean {near}?)" if near else ""
    given = detail["input"]
    # A map is refused as a whole for the keys that it has.
    shown = _shown(given) if not isinstance(given, Mapping) else " and ".join(map(str, given)) or "an empty map"
    return f"got {shown}, need {detail['ctx']['need']}{suggestion}"


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
