"""The commands that the documentation shows: those of blocks marked `sh` or `console`, and those inside sentences."""

from __future__ import annotations

import functools
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
_AT_THE_TOP = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "CODE_OF_CONDUCT.md", "SECURITY.md")
PAGES = [PROJECT / name for name in _AT_THE_TOP]
PAGES += sorted((PROJECT / "docs").rglob("*.md"))
SHELL = ("sh", "console")
"""What stands behind the fence of a block of commands. In a `console`, they begin with `$ `, and the rest is output."""

_BLOCK = re.compile(r"(?:<!-- not run: (.+?) -->\s*)?^( *)```(.*)\n((?:.*\n)*?)\2```$", re.MULTILINE)
_CODE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
_COMMENT = re.compile(r"(^|\s)#(?=\s).*$", re.MULTILINE)
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")
_BETWEEN = ";&|()<>\n"
_INLINE = (".", "make", "tensorplane", "pulumi", "kubectl", "python")
"""What is a command inside a sentence, too, where something follows."""
_BEFORE = ("sudo", "nohup", "time", "!")


@dataclass(frozen=True)
class Block:
    """One fenced block: what is behind its fence, its text without the indentation, and why nothing runs it."""

    language: str
    text: str
    not_run: str = ""


@dataclass(frozen=True)
class Command:
    """One program with its words."""

    words: tuple[str, ...]
    not_run: str = ""
    """The reason of the comment `<!-- not run: … -->` before its block; empty where there is none."""
    writes: tuple[str, ...] = ()
    """Files that its output goes to."""
    inline: bool = False
    """Whether it stands in a sentence, which may name a command without its arguments."""

    @property
    def program(self) -> str:
        return self.words[0].rpartition("/")[2]

    def __str__(self) -> str:
        return shlex.join(self.words)


@functools.cache
def texts() -> Mapping[Path, str]:
    """What the pages say."""
    return {path: path.read_text() for path in PAGES}


def on_pages(look: Callable[[str], Iterable[str]]) -> list[str]:
    """What is found in the texts of the pages, each with the name of its page."""
    return [f"{path.relative_to(PROJECT)}: {found}" for path, text in texts().items() for found in look(text)]


@functools.cache
def blocks(page: str) -> Sequence[Block]:
    """The code blocks of a page."""
    return [
        Block(language, re.sub(f"^{indentation}", "", text, flags=re.MULTILINE), not_run)
        for not_run, indentation, language, text in _BLOCK.findall(page)
    ]


def outside_blocks(page: str) -> str:
    """A page without its code blocks."""
    return _BLOCK.sub("", page)


def commands(page: str) -> Iterator[Command]:
    """Every command of a page, in its order within blocks, then those in sentences."""
    for block in blocks(page):
        if block.language in SHELL:
            yield from (replace(each, not_run=block.not_run) for each in parsed(script(block)))
    for code in _CODE.findall(outside_blocks(page)):
        words = code.split()
        if len(words) > 1 and words[0].rpartition("/")[2] in _INLINE:
            yield from (replace(each, inline=True) for each in parsed(code))


def script(block: Block) -> str:
    """What a reader types of a block."""
    if block.language != "console":
        return block.text
    return "".join(f"{line[2:]}\n" for line in block.text.splitlines() if line.startswith("$ "))


def parsed(text: str) -> Iterator[Command]:
    """The commands of a shell script, those in `$(…)` included; no conditions, loops or functions."""
    lexer = shlex.shlex(_COMMENT.sub("", text.replace("\\\n", " ")), posix=True, punctuation_chars=_BETWEEN)
    lexer.whitespace, lexer.whitespace_split, lexer.commenters = " \t", True, ""
    words: list[str] = []
    writes: list[str] = []
    redirected = ""
    for token in [*lexer, "\n"]:
        if token and set(token) <= set(_BETWEEN):
            if token in ("<", ">", ">>"):
                redirected = token
                continue
            yield from _command(words, writes)
            words, writes = [], []
        elif redirected:
            writes += [token] if redirected != "<" else []
        else:
            words.append(token)
            for inner in _substituted(token):
                yield from parsed(inner)
        redirected = ""


def _command(words: Sequence[str], writes: Sequence[str]) -> Iterator[Command]:
    left = list(words)
    while left and (_ASSIGNMENT.match(left[0]) or left[0] in _BEFORE):
        left.pop(0)
    if left:
        yield Command(tuple(left), writes=tuple(writes))


def _substituted(word: str) -> Iterator[str]:
    """What is inside `$(…)` of a quoted word."""
    start = word.find("$(")
    while start >= 0:
        depth, end = 0, start + 1
        for end in range(start + 1, len(word)):
            depth += {"(": 1, ")": -1}.get(word[end], 0)
            if not depth:
                break
        yield word[start + 2 : end]
        start = word.find("$(", end)
