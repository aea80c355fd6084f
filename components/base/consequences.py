"""One line per thing to change: omits problems that follow from another one, joins those with the same cause.

A check concludes from keys: the one that it reports, and those in `given`. If one of them is a problem itself, or is
misspelt, the conclusion is omitted.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from components.base import repeated
from components.base.paths import Paths
from components.base.problems import Key, Problem, overlap


def own_causes(shape: Sequence[Problem], found: Iterable[Problem]) -> list[Problem]:
    """The problems that do not follow from others. `shape`: problems of values that could not be read."""
    unread = Paths(path for cause in shape for path in (cause.path, *cause.meant))
    # Settings of one map are checked against each other.
    among = {cause.among for cause in shape if cause.among}
    kept: list[Problem] = []
    reported, concluded = Paths(), Paths()
    for problem in found:
        from_shape = problem.path[:-1] in among or unread.meets((problem.path, *problem.given))
        if from_shape or reported.meets(problem.given):
            continue
        # A problem is omitted only for one that stays, so that at least one is reported.
        for other in [each for each in kept if _follows(each, problem)] if concluded.meets([problem.path]) else ():
            kept.remove(other)
            _count(other, reported.remove, concluded.remove)
        kept.append(problem)
        _count(problem, reported.add, concluded.add)
    return _together(kept)


def _count(problem: Problem, report: Callable[[Key], None], conclude: Callable[[Key], None]) -> None:
    report(problem.path)
    for key in problem.given:
        conclude(key)


def _follows(problem: Problem, cause: Problem) -> bool:
    """Whether one problem is concluded from a key that another one reports."""
    return any(overlap(key, cause.path) for key in problem.given)


def _together(problems: Iterable[Problem]) -> list[Problem]:
    """Joins problems that the same missing setting causes."""
    groups: dict[object, list[Problem]] = {}
    for problem in problems:
        groups.setdefault(problem.lacks or (problem.path, problem.reason), []).append(problem)
    return [_joined(group) for group in groups.values()]


def _joined(problems: Sequence[Problem]) -> Problem:
    first, *others = problems
    places = dict.fromkeys(".".join(other.path) for other in others if other.path != first.path)
    given = (*first.given, *(other.path for other in others))
    return replace(first, reason=f"{first.reason}{repeated.elsewhere(list(places))}", given=given) if places else first


def of_default(key: Key, found: Iterable[Problem]) -> Iterator[Problem]:
    """The problems of settings without this key: those concluded from its default count as caused by its absence."""
    for problem in found:
        yield replace(problem, lacks=key) if any(given[: len(key)] == key for given in problem.given) else problem


def once(found: Iterable[Problem]) -> list[Problem]:
    """The problems, with one for each mistake that is made again and again."""
    return [_joined(group) for group in repeated.groups(found, lambda problem: problem.reason)]
