"""Any text as Markdown that shows it: no part of it becomes markup, a link, a mention or a command.

Backslashes and entities keep text from the parser. What GitHub and GitLab make of text once it is rendered, such as
mentions of people and issues, they leave alone in code alone: words with such parts are code.
"""

from __future__ import annotations

import re
import unicodedata

from tensorplane.cli.output.texts import parts

_CODE = re.compile(r"(?<![^\s(\[{,;:])`([^`]+)`(?![^\s)\]},.;:!?])")
_LIVE = re.compile(
    r"[@~^]"  # mentions and addresses; labels and strikethrough; vulnerabilities
    r"|#(?=\w)(?<![\w./]#)|#\d"  # issues; not the heading of a page
    r"|[!%&](?=[\w\"])|\*[a-z]+:|GH-\d"  # merge requests, milestones, epics; iterations; issues
    r"|\$(?![\d])"  # mathematics; not a price
    r"|://|www\.|:[\w+-]+:"  # links; emoji
    r"|^\W*\[|\[\[|\[[a-z_]+:|[\[{][+-]"  # tables of contents, footnotes, tasks, references in brackets; changes
    r"|(?<![\w-])(?=[0-9a-f]*[a-f])(?=[0-9a-f]*\d)[0-9a-f]{7,40}(?![\w-])"  # commits
)
_MARKUP = re.compile(r"[\\`*\[]|(?<![^\W_])_|_(?![^\W_])")
_BAR = "&#124;"
_ENTITIES = {"&": "&amp;", "<": "&lt;", "|": _BAR}
_APART = "<!-- -->"
"""Between two pieces of code, which would be one."""
_BLOCK = re.compile(r"[-+](?=\s|$)|[-=]{2,}$|#{1,6}(?=\s|$)|>|\d+(?=[.)](\s|$))")
"""Begins a list, heading or quotation, or makes a heading of the line before."""
_PUNCTUATED = re.compile(r"(\(*)(.*?)([.,;:)]*)", re.DOTALL)
_HIDDEN = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"})
_BLANK = frozenset("\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
"""Letters and signs that have no shape."""
_RIGHT_TO_LEFT = frozenset({"R", "AL", "AN"})


class Markdown(str):
    """Text that is Markdown already."""


def visible(text: str) -> str:
    """The text with what nobody would see spelled out: line ends as `\\n`, directions of writing as `\\u202e`."""
    return "".join(_spelled(each) if _is_hidden(each) else each for each in text)


def code(text: str) -> Markdown:
    """The text as code, also in a cell of a table."""
    # A bar ends a cell also in code, and a backslash before it would be one of the code's own.
    return Markdown(_BAR.join(map(_fenced, visible(text).split("|"))))


def _fenced(shown: str) -> str:
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", shown)), default=0))
    space = " " if shown.strip() and (shown[0] in "` " or shown[-1] in "` ") else ""
    return _isolated(f"{fence}{space}{shown}{space}{fence}") if shown else ""


def name(text: str) -> Markdown:
    """A name: as it is if it has letters, digits and a few signs, else as code."""
    escaped = _words(text)
    is_plain = re.fullmatch(r"[\w:.,/=+()' -]+", escaped) and text == text.strip()
    return Markdown(escaped if is_plain else code(text))


def line(text: str) -> Markdown:
    """A line of prose. What is between two backticks is code, what is between the marks of `bold` is bold."""
    found = inline(text)
    begins = _BLOCK.match(found) and not isinstance(text, Markdown)
    return Markdown(_BLOCK.sub(_escaped_block, found, count=1)) if begins else found


def inline(text: str) -> Markdown:
    """The same where other text of the line is before it, as in a cell of a table."""
    if isinstance(text, Markdown):
        return text
    return Markdown("".join(_bold(part) if is_bold else _prose(part) for part, is_bold in parts(text.strip(" "))))


def _bold(part: str) -> str:
    return f"**{name(part) if ' ' not in part else _prose(part.strip(' ')) or code(part)}**" if part else ""


def _prose(part: str) -> str:
    found = ""
    for index, piece in enumerate(_CODE.split(part)):
        shown = code(piece) if index % 2 else _words(piece)
        found += f"{_APART}{shown}" if found.endswith("`") and shown.startswith("`") else shown
    return found


def _words(text: str) -> str:
    return "".join(visible(each) if each.isspace() else _word(each) for each in re.split(r"(\s+)", text) if each)


def _word(word: str) -> str:
    if _LIVE.search(word) and (found := _PUNCTUATED.fullmatch(word)) and found[2]:
        return f"{found[1]}{code(found[2])}{found[3]}"
    shown = "".join(_ENTITIES.get(each, each) for each in visible(_MARKUP.sub(lambda found: f"\\{found[0]}", word)))
    return _isolated(shown)


def _isolated(text: str) -> str:
    """The text so that letters from right to left do not turn what is around them."""
    turns = any(unicodedata.bidirectional(each) in _RIGHT_TO_LEFT for each in text)
    return f"\u2068{text}\u2069" if turns else text


def _escaped_block(found: re.Match[str]) -> str:
    return f"{found[0]}\\" if found[0].isdecimal() else f"\\{found[0]}"


def _is_hidden(character: str) -> bool:
    return unicodedata.category(character) in _HIDDEN or character in _BLANK


def _spelled(character: str) -> str:
    return character.encode("unicode_escape").decode()
