"""Reads glob patterns as Pachyderm does: into texts, wildcards, characters and groups."""

from __future__ import annotations

import itertools
import re
import shlex
import string
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NoReturn

_POSIX = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "ascii": "\x01-\x7f",
    "blank": "\t ",
    "cntrl": "\x01-\x1f\x7f",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": "!-/:-@[-`{-~",
    "space": "\t-\r ",
    "upper": "A-Z",
    "word": "0-9A-Za-z_",
    "xdigit": "0-9A-Fa-f",
}
_MOST_CHARACTERS = 256
_MOST_WAYS = 64
_CLOSING = {"(": ")", "{": "}"}
_BETWEEN = {"(": "|", "{": ","}
_OF_KEYS = re.compile(r"[\\*?\[\](){}]")
"""Characters with a meaning in the pattern of a key."""


class Beyond(ValueError):
    """A pattern that has no equal here, or that Pachyderm refuses."""


@dataclass(frozen=True)
class Text:
    """A text as it is."""

    text: str


@dataclass(frozen=True)
class Wild:
    """`*`, `**` or `?`."""

    sign: str


@dataclass(frozen=True)
class OneOf:
    """One of these characters, or none of them. Never a slash."""

    characters: frozenset[str]
    negated: bool


@dataclass(frozen=True)
class Group:
    """One of several ways, in parentheses, which count, or in braces."""

    number: int
    """Of those in parentheses, from 1; 0 for braces."""
    ways: tuple[tuple[Node, ...], ...]


Node = Text | Wild | OneOf | Group


def read(pattern: str) -> tuple[Node, ...]:
    """The parts of a pattern. Raises Beyond."""
    return _Reader(pattern).ways("")[0]


class _Reader:
    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._at = 0
        self._groups = 0

    def ways(self, opened: str) -> tuple[tuple[Node, ...], ...]:
        """What is there up to the bracket that closes `opened`, or up to the end."""
        found: list[list[Node]] = [[]]
        while (sign := self._next()) != _CLOSING.get(opened, ""):
            if sign == _BETWEEN.get(opened):
                found.append([])
            else:
                found[-1].append(self._node(sign, opened))
        return tuple(tuple(_joined(one)) for one in found)

    def _next(self) -> str:
        """The next character; empty at the end."""
        self._at += 1
        return self._pattern[self._at - 1 : self._at]

    def _comes(self, text: str) -> bool:
        """Whether this comes next, which is then read."""
        found = self._pattern.startswith(text, self._at)
        self._at += len(text) if found else 0
        return found

    def _node(self, sign: str, opened: str) -> Node:
        if sign == "\\":
            return Text(self._next() or _beyond())
        if sign == "*":
            wild = Wild("**" if self._comes("*") else "*")
            return _beyond() if self._comes("(") else wild
        if sign == "?":
            return self._group(opened, "(", optional=True) if self._comes("(") else Wild("?")
        if sign == "[":
            return self._one_of()
        if sign in _CLOSING or (sign == "@" and self._comes("(")):
            return self._group(opened, sign.replace("@", "("))
        if not sign or sign in "@+!^)}" or (sign == "/" and opened):
            return _beyond()
        return Text(sign)

    def _group(self, outside: str, opened: str, *, optional: bool = False) -> Node:
        if outside not in ("", opened):
            return _beyond()
        number = self._groups = self._groups + (opened == "(")
        ways = self.ways(opened)
        return Group(number if opened == "(" else 0, (*ways, ()) if optional else ways)

    def _one_of(self) -> Node:
        starts_a_name = self._pattern[: self._at - 1].rstrip("@({").endswith("/")
        members, negated = self._bracket()
        characters = _characters(members)
        # Pachyderm takes a slash for one of them, which comes neither first nor last in a name.
        takes_slash = ("/" in characters) != negated
        if takes_slash and not starts_a_name and self._at < len(self._pattern):
            return _beyond()
        return OneOf(characters - {"/"} or _beyond(), negated)

    def _bracket(self) -> tuple[str, bool]:
        """What is between square brackets, and whether it is negated."""
        members, negated = "", False
        while (sign := self._next()) != "]":
            if not sign:
                _beyond()
            if sign == "[":
                members += self._class()
            elif sign in "!^" and not negated:
                negated = True
            else:
                members += self._next() if sign == "\\" else sign
        return members, negated

    def _class(self) -> str:
        """A class such as [:digit:], whose bracket was read."""
        name, _, _ = self._pattern[self._at :].partition(":]")
        if name[1:] not in _POSIX or not self._comes(f":{name[1:]}:]"):
            _beyond()
        return _POSIX[name[1:]]


def _joined(nodes: Sequence[Node]) -> Iterator[Node]:
    """The same with neighbouring texts as one."""
    for is_text, found in itertools.groupby(nodes, lambda node: isinstance(node, Text)):
        if is_text:
            yield Text("".join(node.text for node in found if isinstance(node, Text)))
        else:
            yield from found


def _characters(members: str) -> frozenset[str]:
    """What a list such as a-z_ has."""
    found: set[str] = set()
    for first, last in re.findall(r"(?s)(.)(?:-(.))?", members):
        count = ord(last or first) - ord(first) + 1
        if not 1 <= count <= _MOST_CHARACTERS:
            _beyond()
        found |= {chr(ord(first) + more) for more in range(count)}
    return frozenset(found)


def _beyond() -> NoReturn:
    raise Beyond


def for_shell(nodes: Sequence[Node]) -> list[str]:
    """Patterns of the shell's `case`, of which one matches. Raises Beyond."""
    found = [""]
    for node in nodes:
        found = [before + way for before in found for way in _in_shell(node)]
        if len(found) > _MOST_WAYS:
            raise Beyond
    return found


def _in_shell(node: Node) -> list[str]:
    if isinstance(node, Text):
        return [shlex.quote(node.text)]
    if isinstance(node, Group):
        return [way for each in node.ways for way in for_shell(each)]
    if isinstance(node, Wild):
        return [node.sign if node.sign != "**" else _beyond()]
    return [_bracket(node)]


def _bracket(node: OneOf) -> str:
    """In full apart from digits: which letters are between two others depends on the language."""
    if not all(one.isascii() and one.isprintable() for one in node.characters):
        raise Beyond
    digits = {*string.digits} <= node.characters
    plain = sorted(node.characters - ({*string.digits} if digits else set()))
    return f"[{'!' if node.negated else ''}{'0-9' if digits else ''}{''.join(map(_quoted, plain))}]"


def _quoted(character: str) -> str:
    return character if character.isalnum() else shlex.quote(character)


def for_key(nodes: Sequence[Node], number: int) -> str:
    """The pattern of a key that takes what the group of this number takes."""
    return "".join(_in_key(node, number) for node in nodes)


def _in_key(node: Node, number: int) -> str:
    if isinstance(node, Text):
        return _OF_KEYS.sub(r"\\\g<0>", node.text)
    if isinstance(node, Wild):
        return node.sign
    if isinstance(node, OneOf):
        return f"[{'!' if node.negated else ''}{''.join(_runs(node.characters))}]"
    ways = [for_key(each, number) for each in node.ways]
    several = "{" + ",".join(way.replace(",", r"\,") for way in ways) + "}" if len(ways) > 1 else ways[0]
    return f"({several})" if node.number == number else several


def _runs(characters: frozenset[str]) -> Iterator[str]:
    """Characters with neighbouring ones as a-z."""
    codes = sorted(map(ord, characters))
    for _, run in itertools.groupby(enumerate(codes), lambda each: each[1] - each[0]):
        found = [re.sub(r"[\]\[\\^!-]", r"\\\g<0>", chr(code)) for _, code in run]
        yield f"{found[0]}-{found[-1]}" if len(found) > 2 else "".join(found)
