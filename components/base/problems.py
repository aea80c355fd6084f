"""Problems in the settings: one line each, `key: problem; remedy`."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pulumi
from pydantic import ValidationError
from pydantic_core import ErrorDetails

from components.base import reasons
from components.base.model import Model, is_name
from components.base.place import Key as Key
from components.base.place import Place, written_path
from stack_file import ENCRYPTED
from stack_file.file_problems import some
from stack_file.nearest import did_you_mean as did_you_mean

Written = Mapping[Key, str]
"""Values as the file has them, where Pulumi writes them in another way."""
_LONGEST_KEY = 200
_LONGEST_REASON = 2000
_LONG_WORD = re.compile(rf"\S{{{_LONGEST_KEY + 1},}}")


@dataclass(frozen=True)
class Problem:
    """One thing to change: the key, and why."""

    path: Key
    reason: str
    given: tuple[Key, ...] = ()
    """Other keys from which this was concluded. If one of them is a problem itself, the conclusion may be wrong."""
    lacks: Key = ()
    """The missing setting that causes it; problems with the same cause share one line."""
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


def stop(problems: Iterable[Problem | str]) -> None:
    """End the program with every problem, a line each; return when there is none. Pulumi exits with 1, no traceback."""
    lines = dict.fromkeys(str(problem) for problem in problems)
    if lines:
        raise pulumi.RunError("\n".join(lines))


def without_consequences(problems: Iterable[Problem], causes: Sequence[Problem]) -> Iterator[Problem]:
    """The problems that were not concluded from settings with other problems."""
    doubtful = [cause.path for cause in causes]
    for problem in problems:
        if not any(overlap(path, cause) for path in problem.given for cause in doubtful):
            yield problem


def as_written(found: Iterable[Problem], tree: Any) -> Iterator[Problem]:
    """The problems, at the keys of the file: where it has one item without its list, the item has no position."""
    for problem in found:
        path = written_path(problem.path, tree)
        yield problem if path == problem.path else replace(problem, path=path)


def certain(problems: Iterable[Problem], unread: Collection[Key]) -> Iterator[Problem]:
    """The problems that do not depend on encrypted values."""
    concerned = [_concerned(path) for path in unread]
    for problem in problems:
        doubtful = unread if problem.by_names else concerned
        if not any(overlap(at, one) for at in (problem.path, *problem.given) for one in doubtful):
            yield problem


def _concerned(path: Key) -> Key:
    """The settings whose problems may depend on a value: its workload, volume, …; everything for a cluster's."""
    if path[2:3] == ("env",):
        return path
    return () if path[0] == "cluster" else path[:2]


def hiding(problems: Iterable[Problem], secret: Collection[Key], words: Collection[str]) -> Iterator[Problem]:
    """The problems, without the text of those that would reveal a secret value or a part of one."""
    revealing = re.compile("|".join(rf"(?<!\w){re.escape(word)}(?!\w)" for word in words) or "(?!)")
    for problem in problems:
        secrets = [above for path in (problem.path, *problem.given) if (above := below(path, secret))]
        if secrets:
            yield _hidden(min(secrets))
        elif revealing.search(problem.reason):
            yield Problem(
                problem.path, "conflicts with an encrypted value; the details would show that value, so they are hidden"
            )
        else:
            yield problem


def _hidden(key: Key) -> Problem:
    return Problem(key, "invalid secret value; the details would show it, so they are hidden")


def below(path: Key, keys: Collection[Key]) -> Key | None:
    """The outermost of these keys that is the path or contains it. Of many keys, give a set."""
    return next((path[:length] for length in range(len(path) + 1) if path[:length] in keys), None)


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


def unknown_name(path: Key, what: str, name: str, known: Iterable[str]) -> Problem:
    """The problem of a reference to something that the settings do not declare under `<what>s`."""
    # Names that are refused where they are declared are not suggested.
    have = sorted(each for each in known if is_name(each))
    remedy = f"choose one of {', '.join(have)}" if have else f"declare one under {what}s"
    key = (f"{what}s", name)
    reason = f"no {what} is named {name!r}; {remedy}{did_you_mean(name, have)}"
    return Problem(path, reason, given=(key,), lacks=key if have else key[:1], by_names=True)


def of_validation(
    error: ValidationError, model: type[Model], secret: Collection[Key], tree: Mapping[str, Any], written: Written
) -> list[Problem]:
    """The problems in a validation error of a tree. `secret` has the keys whose values must not be shown."""
    details = [detail for detail in details_of(error) if not left_to_pulumi(detail)]
    places = [(detail, _place(detail, model, tree, written)) for detail in details]
    # The correct name of a misspelt key is not reported as missing, too.
    meant = {key for detail, place in places if detail["type"] == "extra_forbidden" for key in place.meant}
    around = {place.path[:-1] for _, place in places}
    elsewhere = {place.path for detail, place in places if _moved(detail, place)}
    joined = _of_maps(each for each in places if each[1].path not in elsewhere)
    found: dict[Key, Problem] = {}
    for detail, place in places:
        if detail["type"] == "missing" and (place.path in meant or place.is_foreign()):
            continue
        if detail["type"] == "too_short" and place.path in around:
            # Invalid items are reported, not a list that is too short without them.
            continue
        problem = _moved(detail, place) or joined.get((place.path, detail["type"])) or _problem(detail, place)
        above = below(problem.path, secret)
        if above and (above != problem.path or detail["type"] != "extra_forbidden"):
            problem = _hidden(above)
        found.setdefault(problem.path, problem)
    combined = {problem.path for problem in joined.values()}
    return [problem for path, problem in found.items() if path in elsewhere or not below(path[:-1], combined)]


def _place(detail: ErrorDetails, model: type[Model], tree: Mapping[str, Any], written: Written) -> Place:
    place = Place.of(model, detail["loc"], tree)
    of_kind = detail["type"].startswith("union_tag")
    return replace(place, written=written.get((*place.path, "kind") if of_kind else place.path, ""))


def details_of(error: ValidationError) -> list[ErrorDetails]:
    """pydantic's errors, without those of In[T]'s second type: "is not an Output" means nothing to authors of YAML."""
    return [located(detail) for detail in error.errors(include_url=False) if detail["type"] != "is_instance_of"]


def located(detail: ErrorDetails) -> ErrorDetails:
    """An error of a map, at the key whose value was refused, if there is one."""
    at = detail.get("ctx", {}).get("at")
    if not at:
        return detail
    return {**detail, "loc": (*detail["loc"], at), "input": detail["input"][at]}


def left_to_pulumi(detail: ErrorDetails) -> bool:
    """Whether the value is unknown here because it is encrypted."""
    value, kind = detail["input"], detail["type"]
    if kind.startswith("union_tag"):
        value = value.get("kind") if isinstance(value, Mapping) else value
    if kind == "too_short":
        return isinstance(value, list) and ENCRYPTED in value
    return value is ENCRYPTED and kind != "extra_forbidden"


def _problem(detail: ErrorDetails, place: Place) -> Problem:
    if detail["type"] in ("union_tag_invalid", "union_tag_not_found"):
        return Problem((*place.path, "kind"), reasons.of(detail, place), among=place.path)
    meant = place.meant if detail["type"] == "extra_forbidden" else ()
    among = place.path[:-1] if place.around else ()
    return Problem(place.path, reasons.of(detail, place), meant=meant if len(meant) > 1 else (), among=among)


def _moved(detail: ErrorDetails, place: Place) -> Problem | None:
    """The problem of a key that has moved. Problems caused by the new key's absence are omitted."""
    moved = place.moved(detail["input"]) if detail["type"] == "extra_forbidden" else None
    return Problem(place.path, moved.text, meant=(moved.to,)) if moved else None


def _of_maps(places: Iterable[tuple[ErrorDetails, Place]]) -> dict[tuple[Key, str], Problem]:
    """The problems of maps of the wrong kind, which stand for those of their keys: by a key's path and error."""
    groups: dict[tuple[Key, str], list[tuple[ErrorDetails, Place]]] = {}
    for detail, place in places:
        groups.setdefault((place.path[:-1], detail["type"]), []).append((detail, place))
    found: dict[tuple[Key, str], Problem] = {}
    for (_, kind), group in groups.items():
        if problem := _of_several(group):
            found |= {(place.path, kind): problem for _, place in group}
    return found


def _of_several(alike: Sequence[tuple[ErrorDetails, Place]]) -> Problem | None:
    """One problem for a map of the wrong kind: all of its keys are unknown, or none of its values is a map."""
    detail, place = alike[0]
    parent = place.path[:-1]
    empty = detail["type"] in reasons.NO_MAP and place.around is None and len(alike) == len(place.siblings)
    if empty and len(alike) == 1:
        # The map declares no name that others could refer to.
        return Problem(place.path, reasons.of(detail, place), meant=(parent,))
    if not parent or len(alike) < 2:
        return None
    names = some([other.path[-1] for _, other in alike], "and")
    foreign = place.siblings.keys().isdisjoint(place.allowed()) or not any(other.meant for _, other in alike)
    if detail["type"] == "extra_forbidden" and foreign:
        return Problem(parent, f"unknown settings {names}; allowed here: {', '.join(place.allowed())}", among=parent)
    if empty:
        return Problem(parent, f"{names} are not maps; write each as a map of settings")
    return None
