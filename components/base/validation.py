"""Validates settings as a model: pydantic's errors as problems, and corrections of unambiguous ones.

A stack with such a problem is still refused, but without problems that follow from it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from tensorplane import stack_file
from tensorplane.components.base import messages
from tensorplane.components.base.location import Key, Location
from tensorplane.components.base.model import Model
from tensorplane.components.base.problems import Problem, below, hidden, legible
from tensorplane.stack_file import ENCRYPTED
from tensorplane.stack_file.file_problems import some
from tensorplane.stack_file.nearest import nearest

if TYPE_CHECKING:
    from tensorplane.components.base.settings import Settings

M = TypeVar("M", bound=Model)
Written = Mapping[Key, str]
"""Values as the file has them, where Pulumi writes them in another way."""
_LEADING_ZEROS = re.compile(r"0+([0-9]+)")


def validate(model: type[M], settings: Settings) -> tuple[M, list[Problem]]:
    """The settings as a model, and every problem in their shape.

    If there are problems, the model omits the invalid parts, or corrects them if the intention is clear, so that the
    rest can be checked in the same run; no resources may be created from it. Problems that an omission causes are not
    reported.
    """
    tree = _copy(settings.tree)
    found: dict[Key, Problem] = {}
    changed, ancestors = set[Key](), set[Key]()
    while True:
        try:
            return model.model_validate(tree, by_alias=True, by_name=False), list(found.values())
        except ValidationError as error:
            for problem in problems_of(error, model, settings.secret, tree, settings.rewritten):
                # Not what a change of the tree causes, nor what is in settings of a guessed kind.
                if problem.path not in ancestors and (*problem.among, "kind") not in changed:
                    found.setdefault(problem.path, problem)
            for detail in map(at_refused_key, error.errors(include_url=False)):
                location = Location.find(model, detail["loc"], tree)
                corrected = None if left_to_pulumi(detail) else _correct(tree, location, detail)
                for path in (location.path, corrected or _remove(tree, location.path)):
                    changed.add(path)
                    ancestors |= {path[:length] for length in range(len(path) + 1)}


def _copy(value: Any) -> Any:
    """A tree with maps and lists of its own. Its leaves are the same, since outputs of resources cannot be copied."""
    if isinstance(value, Mapping):
        return {key: _copy(each) for key, each in value.items()}
    return [_copy(each) for each in value] if isinstance(value, list) else value


def _correct(tree: dict[str, Any], location: Location, detail: ErrorDetails) -> Key | None:
    """Correct the problem in the tree. Returns the corrected key, or None if the intention is ambiguous."""
    *parents, last = location.path
    node: Any = tree
    for key in parents:
        node = node.get(key) if isinstance(node, dict) else None
    if not isinstance(node, dict) or last not in node:
        return None
    if detail["type"] == "extra_forbidden":
        suggested = [key[-1] for key in location.suggestions]
        return _renamed(node, location.path, suggested)
    if detail["type"] == "refused" and detail["loc"][-1] == "[key]":
        return _renamed(node, location.path, [detail["ctx"]["near"]])
    if detail["type"] == "union_tag_invalid":
        node, last = node[last], "kind"
    suggested = nearest(node.get(last), messages.allowed_values(detail)) if isinstance(node, dict) else []
    if len(suggested) != 1 or suggested[0] == node[last]:
        return None
    node[last] = suggested[0]
    return (*location.path, last) if detail["type"] == "union_tag_invalid" else location.path


def _renamed(node: dict[str, Any], path: Key, names: list[str]) -> Key | None:
    if len(names) != 1 or not names[0] or names[0] in node:
        return None
    node[names[0]] = node.pop(path[-1])
    return (*path[:-1], names[0])


def _remove(tree: dict[str, Any], path: Key) -> Key:
    """Removes the invalid value from the tree or, if it is missing, the smallest existing part around it."""
    node: Any = tree
    parents: list[Any] = []
    for key in path:
        if not isinstance(node, Mapping) or key not in node:
            break
        parents.append(node)
        node = node[key]
    if parents:
        del parents[-1][path[len(parents) - 1]]
    return path[: len(parents)]


def problems_of(
    error: ValidationError, model: type[Model], secret: Collection[Key], tree: Mapping[str, Any], written: Written
) -> list[Problem]:
    """The problems in a validation error of a tree. `secret` has the keys whose values must not be shown."""
    details = [detail for detail in details_of(error) if not left_to_pulumi(detail)]
    located_errors = [(detail, _locate(detail, model, tree, written)) for detail in details]
    # The correct name of a misspelt key is not reported as missing, too.
    suggested = {
        key
        for detail, location in located_errors
        if detail["type"] == "extra_forbidden"
        for key in location.suggestions
    }
    parents = {location.path[:-1] for _, location in located_errors}
    elsewhere = {location.path for detail, location in located_errors if _moved_setting(detail, location)}
    joined = _problems_of_maps(each for each in located_errors if each[1].path not in elsewhere)
    found: dict[Key, Problem] = {}
    for detail, location in located_errors:
        if detail["type"] == "missing" and (location.path in suggested or location.is_foreign()):
            continue
        if detail["type"] == "too_short" and location.path in parents:
            # Invalid items are reported, not a list that is too short without them.
            continue
        problem = (
            _moved_setting(detail, location)
            or joined.get((location.path, detail["type"]))
            or _problem_of(detail, location)
        )
        above = below(problem.path, secret)
        if above and (above != problem.path or detail["type"] != "extra_forbidden"):
            problem = hidden(above)
        found.setdefault(problem.path, problem)
    combined = {problem.path for problem in joined.values()}
    return [problem for path, problem in found.items() if path in elsewhere or not below(path[:-1], combined)]


def _locate(detail: ErrorDetails, model: type[Model], tree: Mapping[str, Any], written: Written) -> Location:
    location = Location.find(model, detail["loc"], tree)
    of_kind = detail["type"].startswith("union_tag")
    return replace(location, written=written.get((*location.path, "kind") if of_kind else location.path, ""))


def details_of(error: ValidationError) -> list[ErrorDetails]:
    """pydantic's errors, without those of In[T]'s second type: "is not an Output" means nothing to authors of YAML."""
    return [at_refused_key(detail) for detail in error.errors(include_url=False) if detail["type"] != "is_instance_of"]


def at_refused_key(detail: ErrorDetails) -> ErrorDetails:
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


def _problem_of(detail: ErrorDetails, location: Location) -> Problem:
    if detail["type"] in ("union_tag_invalid", "union_tag_not_found"):
        return Problem((*location.path, "kind"), messages.describe(detail, location), among=location.path)
    suggested = location.suggestions if detail["type"] == "extra_forbidden" else ()
    among = location.path[:-1] if location.model else ()
    return Problem(
        location.path,
        messages.describe(detail, location),
        suggestions=suggested if len(suggested) > 1 else (),
        among=among,
    )


def _moved_setting(detail: ErrorDetails, location: Location) -> Problem | None:
    """The problem of a key that has moved. Problems caused by the new key's absence are omitted."""
    moved = location.moved(detail["input"]) if detail["type"] == "extra_forbidden" else None
    return Problem(location.path, moved.text, suggestions=(moved.to,)) if moved else None


def _problems_of_maps(located_errors: Iterable[tuple[ErrorDetails, Location]]) -> dict[tuple[Key, str], Problem]:
    """The problems of maps of the wrong kind, which stand for those of their keys: by a key's path and error."""
    groups: dict[tuple[Key, str], list[tuple[ErrorDetails, Location]]] = {}
    for detail, location in located_errors:
        groups.setdefault((location.path[:-1], detail["type"]), []).append((detail, location))
    found: dict[tuple[Key, str], Problem] = {}
    for (_, kind), group in groups.items():
        if problem := _problem_of_map(group):
            found |= {(location.path, kind): problem for _, location in group}
    return found


def _problem_of_map(alike: Sequence[tuple[ErrorDetails, Location]]) -> Problem | None:
    """One problem for a map of the wrong kind: all of its keys are unknown, or none of its values is a map."""
    detail, location = alike[0]
    parent = location.path[:-1]
    empty = detail["type"] in messages.NO_MAP and location.model is None and len(alike) == len(location.siblings)
    if empty and len(alike) == 1:
        # The map declares no name that others could refer to.
        return Problem(location.path, messages.describe(detail, location), suggestions=(parent,))
    if not parent or len(alike) < 2:
        return None
    names = some([other.path[-1] for _, other in alike], "and")
    foreign = location.siblings.keys().isdisjoint(location.allowed()) or not any(
        other.suggestions for _, other in alike
    )
    if detail["type"] == "extra_forbidden" and foreign:
        return Problem(parent, f"unknown settings {names}; allowed here: {', '.join(location.allowed())}", among=parent)
    if empty:
        return Problem(parent, f"{names} are not maps; write each as a map of settings")
    return None


def misread(model: Model, rewritten: Mapping[Key, str], found: Collection[Problem]) -> Iterator[Problem]:
    """Numbers and booleans that Pulumi does not pass as they were written: as text, or as another number.

    Values with a problem in `found` are skipped, because the model has another value there.
    """
    paths = {problem.path for problem in found}
    for path, written in rewritten.items():
        value = None if below(path, paths) else _field(model, path)
        if isinstance(value, str):
            kind = "boolean" if isinstance(stack_file.resolve(written), bool) else "number"
            yield Problem(path, f"Pulumi turns the {kind} {legible(written)} into {value}; quote it")
        elif value is not None and (decimal := _LEADING_ZEROS.fullmatch(written)) and value != int(decimal[1]):
            reason = f"Pulumi reads {legible(written)} as an octal number, {value:g}"
            yield Problem(path, f"{reason}; write {int(decimal[1])} or {value:g}")


def empty(model: Model, tree: Mapping[str, Any], found: Collection[Problem]) -> Iterator[Problem]:
    """Keys without a value whose default is also none, so that the key has no effect.

    With another default, `null` has a meaning. Keys with a problem in `found` are skipped.
    """
    paths = {problem.path for problem in found}
    for path in _nulls(tree):
        parent = None if below(path, paths) else _field(model, path[:-1])
        if isinstance(parent, Model) and any(
            path[-1] == (info.alias or name) and info.default is None and not info.is_required()
            for name, info in type(parent).model_fields.items()
        ):
            yield Problem(path, "no value; set one, or remove the key", among=path[:-1])


def _nulls(value: Any, at: Key = ()) -> Iterator[Key]:
    if value is None:
        yield at
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _nulls(inner, (*at, str(key)))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _nulls(inner, (*at, str(index)))


def _field(node: Any, path: Key) -> Any:
    """The model's value at a path of the file; None where it has none."""
    for key in path:
        if isinstance(node, list | tuple) and not key.isdecimal():
            # One item without its list, as in `gate: {metric: …}`.
            node = node[0] if len(node) == 1 else None
        if isinstance(node, Model):
            names = {info.alias or name: name for name, info in type(node).model_fields.items()}
            node = getattr(node, names.get(key, ""), None)
        elif isinstance(node, Mapping):
            node = node.get(key)
        else:
            node = node[int(key)] if isinstance(node, list | tuple) and int(key) < len(node) else None
    return node
