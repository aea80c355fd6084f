"""What Pulumi refuses or silently misreads in a stack's file, and the lines in which it is reported."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

_MOST_NAMED = 3
Key = tuple[str, ...]
"""Where a value is: the key below `config:`, then the keys and positions inside it."""


@dataclass(frozen=True)
class FileProblem:
    """One thing to change in the file."""

    text: str
    """Problem and remedy."""
    line: int = 0
    """From 1; 0 for the whole file."""
    value: Key = ()
    """The value that is misread."""
    key: Key = ()
    """The key that is misread. What a model says of it is about another text than the file's."""


def lines(file: str, problems: Iterable[FileProblem]) -> list[str]:
    """The problems, a line each; the same one in many lines of the file is one."""
    by_text: dict[str, list[str]] = {}
    for problem in problems:
        by_text.setdefault(problem.text, []).append(str(problem.line) if problem.line else "")
    return [f"{file}: {_line_numbers(found)}{text}" for text, found in by_text.items()]


def _line_numbers(found: Sequence[str]) -> str:
    numbers = [number for number in dict.fromkeys(found) if number]
    return f"line{'s' if len(numbers) > 1 else ''} {some(numbers, 'and')}: " if numbers else ""


def some(names: Sequence[str], word: str, *, most: int = _MOST_NAMED) -> str:
    """The names as a sentence has them: all, or of many the first three and how many more."""
    if len(names) > most + 1:
        return f"{', '.join(names[:most])} and {len(names) - most:,} more"
    return f" {word} ".join(filter(None, (", ".join(names[:-1]), names[-1])))
