"""What parts of an input are joined by: the key in their names, as a pattern or by their endings."""

import re
from collections.abc import Iterator
from typing import Annotated, Any, NoReturn, Self

from pydantic import AfterValidator, Field, model_validator

from tensorplane.components.base.model import Model, NonEmptyStr, refuse_all_but

_WORDS = {"**": "[\\s\\S]*", "*": "[^/]*", "?": "[^/]"}
_BRACKETS = {"(": "(", "{": "(?:", ")": ")", "}": ")"}
_CLOSING = {"(": ")", "{": "}"}
_NAMED_CHARACTERS = r"\[:[^\]:]*:\]|\[=[^\]=]*=\]|\[\.[^\].]*\.\]"
"""What names characters inside brackets: a class, an equivalence, a collating element of POSIX."""
_SIGN = re.compile(rf"\*\*|\\.|\[[!^]?\]?(?:{_NAMED_CHARACTERS}|\\.|[^\]/\\])*\]|.", re.DOTALL)
_CLASSES = {
    "[:alnum:]": "a-zA-Z0-9",
    "[:alpha:]": "a-zA-Z",
    "[:blank:]": " \\t",
    "[:cntrl:]": r"\x00-\x1f\x7f",
    "[:digit:]": "0-9",
    "[:graph:]": "!-~",
    "[:lower:]": "a-z",
    "[:print:]": " -~",
    "[:punct:]": r"!-/:-@\[-`{-~",
    "[:space:]": r" \t\n\r\f\v",
    "[:upper:]": "A-Z",
    "[:xdigit:]": "0-9a-fA-F",
}
"""Those of ASCII. A slash is none of them: `_class` leaves it out."""
_MOST_STARS = 4
"""A name that does not match takes a time that grows with its length to the power of their number."""


def _check_pattern(value: str) -> str:
    expression(value)
    return value


def _check_ending(value: str) -> str:
    if not value.startswith(".") or "/" in value or value == ".":
        near = f".{value}" if value.isalnum() else ""
        refuse_all_but("an ending of names that begins with a dot, such as .tar.gz", near)
    return value


class JoinKey(Model):
    """The key of a part: `(*).tar.gz`, a pattern of its name, or `{endings: [.jpg, .png]}`."""

    pattern: Annotated[NonEmptyStr, AfterValidator(_check_pattern)] | None = None
    """Pattern of the whole name, which is a path in the dataset. The key is what parentheses hold: `(*).tar.gz`,
    `*_SHOP(*).csv`, `(*)/*`. `*` is any text without a slash, `**` any text, `?` one character, `[a-z]` one of these,
    also by a class of ASCII, `[[:digit:]]`, `{jpg,png}` one of these texts; a backslash makes the next character plain.
    At most four stars. Several parentheses are compared one by one. Names that do not match find no partner."""
    endings: (
        Annotated[list[Annotated[NonEmptyStr, AfterValidator(_check_ending)]], Field(min_length=1, max_length=100)]
        | None
    ) = None
    """Instead: endings of names, such as `[.tar.gz, .tgz]`. The key is the name without the longest of them. Names with
    none of them find no partner."""

    @model_validator(mode="before")
    @classmethod
    def _pattern_alone(cls, value: Any) -> Any:
        return {"pattern": value} if isinstance(value, str) else value

    @model_validator(mode="after")
    def _one(self) -> Self:
        if (self.pattern is None) == (self.endings is None):
            refuse_all_but("one of pattern and endings")
        return self

    @property
    def regex(self) -> str:
        """A regular expression of whole names, whose groups are the key."""
        if self.pattern is not None:
            return expression(self.pattern)
        ends = "|".join(re.escape(ending) for ending in sorted(self.endings or (), key=len, reverse=True))
        # The shortest key: of several endings that fit, the longest goes.
        return f"([\\s\\S]+?)(?:{ends})"

    @property
    def groups(self) -> int:
        """Of how many texts the key consists."""
        return re.compile(self.regex).groups

    @property
    def shown(self) -> str:
        """In the spelling of the settings."""
        return self.pattern if self.pattern is not None else f"{{endings: [{', '.join(self.endings or ())}]}}"


def expression(pattern: str) -> str:
    """The regular expression of a pattern. Refuses one that cannot be read, or has no key."""
    if pattern.startswith("/"):
        refuse_all_but("a pattern without a slash at its start: paths in a dataset have none", pattern.lstrip("/"))
    parts = pattern.split("/")
    if {"", ".", ".."} & {*parts}:
        near = "" if ".." in parts else "/".join(part for part in parts if part not in ("", "."))
        refuse_all_but("a pattern without empty names, . and .. between slashes, which no path in a dataset has", near)
    made = "".join(_translated(pattern))
    if "(" not in _plain(pattern):
        refuse_all_but("a pattern with the key in parentheses, such as (*).tar.gz")
    if sum(sign in ("*", "**") for sign in _SIGN.findall(pattern)) > _MOST_STARS:
        refuse_all_but(f"a pattern with at most {_MOST_STARS} stars (more take too long to match)")
    return made


def _plain(pattern: str) -> str:
    """The characters with a meaning."""
    return "".join(sign for sign in _SIGN.findall(pattern) if len(sign) == 1)


def _translated(pattern: str) -> Iterator[str]:
    opened = ""
    for sign in _SIGN.findall(pattern):
        if sign in _BRACKETS:
            opened = _opened(opened, sign)
            yield _BRACKETS[sign]
        elif sign == "," and opened == "{":
            yield "|"
        else:
            yield _WORDS.get(sign) or _text(sign)
    if opened:
        _unreadable(f"an unclosed {opened}")


def _opened(before: str, bracket: str) -> str:
    """The bracket that is open after this one. None is inside another."""
    if bracket in _CLOSING.values():
        if _CLOSING.get(before) != bracket:
            _unreadable(f"an unopened {bracket}")
        return ""
    if before:
        _unreadable(f"{bracket} inside {before}")
    return bracket


def _text(sign: str) -> str:
    """One character, or one of several."""
    if len(sign) == 1:
        lone = {"[": "an unclosed [", "\\": "a backslash at its end"}
        return _unreadable(lone[sign]) if sign in lone else re.escape(sign)
    return re.escape(sign[1]) if sign[0] == "\\" else _class(sign)


def _class(sign: str) -> str:
    """One of several characters, as in a shell."""
    inside = sign[1:-1]
    negated = inside[:1] in ("!", "^")
    if sign in _CLASSES:
        refuse_all_but(f"a pattern in which {sign} is inside brackets", f"[{sign}]")

    def plain(found: re.Match[str]) -> str:
        if found["named"]:
            return _CLASSES.get(found["named"]) or _unreadable(f"{found['named']}, which is no character class")
        # A backslash is there with what it makes plain.
        return re.escape(found["escaped"] or found["plain"])

    members = re.sub(rf"(?P<named>{_NAMED_CHARACTERS})|\\(?P<escaped>.)|(?P<plain>[\[\]^&~|])", plain, inside[negated:])
    found = f"(?!/)[{'^' if negated else ''}{members}]"
    try:
        re.compile(found)
    except re.error:
        _unreadable(f"{sign}, which is empty or in the wrong order")
    return found


def _unreadable(what: str) -> NoReturn:
    refuse_all_but(f"a pattern without {what}; escape characters with a backslash")
