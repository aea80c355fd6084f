"""Rewords errors of YAML's parser, with the remedy and the line in question."""

import re
import unicodedata
from typing import Any

_SPACES = re.compile(r"^\s*|[:-]\s+")
"""Where spaces matter: before a line's first word, and after what begins a value."""
_OTHER_PROBLEMS = {
    "did not find expected <document start>": "it is indented less than the first line; start `config:` and its "
    "sibling keys without spaces",
    "block sequence entries are not allowed in this context": "a list item `- ` must start a line; put it on a line of "
    "its own, or write [a, b]",
    "but found another document": "a second document begins with ---, and Pulumi reads one; remove the line",
    "did not find expected node content": "a value is missing here, or a bracket before it is not closed; add it",
    "found incompatible YAML document": "the %YAML directive names a version other than 1.1 or 1.2; remove the line",
}
"""What libyaml says, wherever it is in the line, and what to do."""
_COMMENT = re.compile(r"(^|\s)#.*")


def explain(error: Any, text: str) -> tuple[int, str]:
    """The number of the line of the problem, from 1, and what is wrong with it. `error` is a yaml.MarkedYAMLError."""
    lines = [*text.split("\n"), ""]
    at, column = (error.problem_mark.line, error.problem_mark.column) if error.problem_mark else (0, 0)
    at = min(at, len(lines) - 1)
    # The parser detects the effect of such a space later, often in the next line.
    for before in range(at, max(at - 3, -1), -1):
        if problem := _odd_space(lines[before]):
            return before + 1, problem
    begun = error.context_mark.line if error.context_mark else at
    if error.problem == "found unexpected end of stream" and "quoted" in str(error.context):
        return begun + 1, "the quote that starts here is not closed; close it"
    if error.problem == "could not find expected ':'":
        return begun + 1, f"{_shown(lines[begun])} is not `KEY: VALUE`; write a colon and a space after the key"
    if error.problem == "mapping values are not allowed in this context":
        return _no_map_here(lines, at)
    return at + 1, _in_line(str(error.problem), lines[at], column, begun + 1)


def control_character(character: int, position: int, text: str) -> tuple[int, str]:
    """The number of the line with a character that no YAML file can have, from 1, and what is wrong with it."""
    # libyaml counts bytes.
    return text.encode()[:position].count(b"\n") + 1, f"a control character (U+{character:04X}); remove it"


def without_comment(line: str) -> str:
    """A line up to its comment. What follows a # in quotes is taken for one, too."""
    return _COMMENT.sub("", line)


def _odd_space(line: str) -> str:
    """A character that looks like a space where spaces matter; empty if there is none."""
    spaces = "".join(_SPACES.findall(without_comment(line)))
    odd = next((character for character in spaces if not character.isascii()), "")
    name = unicodedata.name(odd, "space").lower() if odd else ""
    return f"a {name} (U+{ord(odd):04X}); type a space" if odd else ""


def _in_line(problem: str, line: str, column: int, begun: int) -> str:
    first, rest = not line[:column].strip(), line[column:]
    match problem:
        case "found character that cannot start any token" if rest[:1] == "\t":
            return "a tab; YAML indents with spaces"
        case "found character that cannot start any token":
            return f"text that starts with {rest[:1]} must be quoted; quote it"
        case "did not find expected key" | "did not find expected '-' indicator":
            if first:
                return "its indentation matches no line above; indent it like its sibling settings"
            return f"{_shown(rest)} follows a complete value; quote the whole value, or remove it"
        case "did not find expected ',' or '}'" | "did not find expected ',' or ']'":
            bracket = "{" if "}" in problem else "["
            problem = f"a comma is missing before {_shown(rest)}, or the {bracket} of line {begun} is not closed"
            return f"{problem}; add the one that is missing"
        case "found undefined alias":
            return f"{_shown(rest)} is an undefined alias; quote it if it is text"
        case _:
            return _OTHER_PROBLEMS.get(problem, f"{problem}; correct the line")


def _no_map_here(lines: list[str], at: int) -> tuple[int, str]:
    """A misplaced `KEY: VALUE`: below one that has a value already, or behind it in the same line."""
    before = next((number for number in range(at - 1, -1, -1) if lines[number].strip()), at)
    here, above = lines[at], lines[before]
    key, colon, _ = above.strip().partition(": ")
    if _depth(here) > _depth(above) and colon and before < at:
        problem = f"it is indented below {_shown(key)} of line {before + 1}, which already has a value"
        if not _depth(above):
            return at + 1, f"{problem}; move the settings of `config:` above that line"
        return at + 1, f"{problem}; indent it like its sibling settings"
    if not colon and before < at and not above.strip().endswith(":"):
        return before + 1, f"{_shown(above)} is not `KEY: VALUE`; write a colon and a space after the key"
    return at + 1, "a second `: ` in one line; quote the value, or start a new line"


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _shown(text: str) -> str:
    short = text.strip()
    return repr(short if len(short) <= 40 else f"{short[:40]}…")
