"""Problems in the settings: one line each, `key: problem; remedy`, and one line per thing to change.

A check concludes from keys: the one that it reports, and those in `given`. If one of them has a problem itself, or is
misspelt, the conclusion is omitted.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from tensorplane.components.base.location import Key as Key
from tensorplane.components.base.location import written_path
from tensorplane.components.base.model import Model, is_name
from tensorplane.core.errors import UserError
from tensorplane.stack_file.file_problems import some
from tensorplane.stack_file.nearest import did_you_mean as did_you_mean

_LONGEST_KEY = 200
_LONGEST_REASON = 2000
_MOST_SINGLE = 3
"""Up to this many equal problems get a line each."""
T = TypeVar("T")
_LONG_WORD = re.compile(rf"\S{{{_LONGEST_KEY + 1},}}")


@dataclass(frozen=True)
class Problem:
    """One thing to change: the key, and why."""

    path: Key
    reason: str
    given: tuple[Key, ...] = ()
    """Other keys from which this was concluded. If one of them has a problem itself, the conclusion may be wrong."""
    lacks: Key = ()
    """The missing setting that causes it; problems with the same cause share one line."""
    suggestions: tuple[Key, ...] = ()
    """The keys to suggest instead of a misspelt one."""
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
    """A UserError with every problem, a line each; returns if there is none."""
    lines = dict.fromkeys(str(problem) for problem in problems)
    if lines:
        raise UserError(*lines)


def without_implied(problems: Iterable[Problem], causes: Sequence[Problem]) -> Iterator[Problem]:
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
            yield hidden(min(secrets))
        elif revealing.search(problem.reason):
            yield Problem(
                problem.path, "conflicts with an encrypted value; the details would show that value, so they are hidden"
            )
        else:
            yield problem


def hidden(key: Key) -> Problem:
    """A problem whose details would show a secret value."""
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


class KeySet:
    """Keys, each as often as it was added; finds overlaps quickly, however many there are."""

    def __init__(self, keys: Iterable[Key] = ()) -> None:
        self._keys: Counter[Key] = Counter()
        self._inside: Counter[Key] = Counter()
        for key in keys:
            self.add(key)

    def add(self, key: Key) -> None:
        """Adds a key once."""
        self._keys[key] += 1
        for length in range(len(key) + 1):
            self._inside[key[:length]] += 1

    def remove(self, key: Key) -> None:
        """Removes a key that was added, once."""
        self._keys[key] -= 1
        for length in range(len(key) + 1):
            self._inside[key[:length]] -= 1

    def overlaps(self, keys: Iterable[Key]) -> bool:
        """Whether one of these keys is, contains or is inside one of the set."""
        return any(self._inside[key] or any(self._keys[key[:length]] for length in range(len(key))) for key in keys)


def root_causes(shape: Sequence[Problem], found: Iterable[Problem]) -> list[Problem]:
    """The problems that do not follow from others. `shape`: problems of values that could not be read."""
    unread = KeySet(path for cause in shape for path in (cause.path, *cause.suggestions))
    # Settings of one map are checked against each other.
    among = {cause.among for cause in shape if cause.among}
    roots: list[Problem] = []
    reported, concluded = KeySet(), KeySet()
    for problem in found:
        from_shape = problem.path[:-1] in among or unread.overlaps((problem.path, *problem.given))
        if from_shape or reported.overlaps(problem.given):
            continue
        # A problem is omitted only for one that stays, so that at least one is reported.
        for other in [each for each in roots if _follows(each, problem)] if concluded.overlaps([problem.path]) else ():
            roots.remove(other)
            _count(other, reported.remove, concluded.remove)
        roots.append(problem)
        _count(problem, reported.add, concluded.add)
    return _join_by_cause(roots)


def _count(problem: Problem, report: Callable[[Key], None], conclude: Callable[[Key], None]) -> None:
    report(problem.path)
    for key in problem.given:
        conclude(key)


def _follows(problem: Problem, cause: Problem) -> bool:
    """Whether one problem is concluded from a key that another one reports."""
    return any(overlap(key, cause.path) for key in problem.given)


def _join_by_cause(problems: Iterable[Problem]) -> list[Problem]:
    """Joins problems that the same missing setting causes."""
    groups: dict[object, list[Problem]] = {}
    for problem in problems:
        groups.setdefault(problem.lacks or (problem.path, problem.reason), []).append(problem)
    return [_joined(group) for group in groups.values()]


def _joined(problems: Sequence[Problem]) -> Problem:
    first, *others = problems
    paths = dict.fromkeys(".".join(other.path) for other in others if other.path != first.path)
    given = (*first.given, *(other.path for other in others))
    return replace(first, reason=f"{first.reason}{also_affects(list(paths))}", given=given) if paths else first


def caused_by_default(key: Key, found: Iterable[Problem]) -> Iterator[Problem]:
    """The problems of settings without this key: those concluded from its default count as caused by its absence."""
    for problem in found:
        yield replace(problem, lacks=key) if any(given[: len(key)] == key for given in problem.given) else problem


def aggregated(found: Iterable[Problem]) -> list[Problem]:
    """The problems, those with the same reason folded into one if they are many."""
    return [_joined(group) for group in group_by(found, lambda problem: problem.reason)]


def group_by(found: Iterable[T], key: Callable[[T], Hashable]) -> list[list[T]]:
    """Items with equal keys together if they are many, every other item alone; in the order of the first ones."""
    alike: dict[Hashable, list[T]] = {}
    for one in found:
        alike.setdefault(key(one), []).append(one)
    return [
        part
        for group in alike.values()
        for part in ([group] if len(group) > _MOST_SINGLE else [[one] for one in group])
    ]


def also_affects(names: Sequence[str]) -> str:
    """The end of a line on a problem that these names have, too; empty if there are none."""
    text = ", ".join(names) if len(names) <= _MOST_SINGLE + 1 else some(names, "and")
    return f"; also affects {text}" if names else ""
