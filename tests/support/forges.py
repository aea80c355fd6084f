"""Markdown as GitHub and GitLab show it: their own parsers, and what both make of text once it is rendered."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from html.parser import HTMLParser

import cmarkgfm
import comrak
from cmarkgfm.cmark import Options

_VOID = frozenset({"br", "hr", "img", "input"})
_LIVE = {
    "mention or address": r"(?<![\w`])@\w",
    "issue": r"#\d|\bGH-\d",
    "merge request, milestone, epic or label": r"(?<!\w)(?:[!&]\d|%[\w\"]|~[\w\"])",
    "link": r"\w://\S|\bwww\.\w",
    "emoji": r":[a-z][\w+-]*:",
    "mathematics": r"\$[^\s\d][^$]*\$|\$\$",
    "reference": r"\[\[|\[[a-z_]+:\d|^\[_?TOC",
    "change": r"[{\[][+-]",
    "commit": r"(?<![\w-])(?=[0-9a-f]*[a-f])(?=[0-9a-f]*\d)[0-9a-f]{7,40}(?![\w-])",
}
"""What GitHub or GitLab replaces in text that is no code."""


@dataclass(frozen=True)
class Piece:
    """A piece of text on a page."""

    text: str
    inside: tuple[str, ...]
    """The elements around it, the outermost first."""


class Page(HTMLParser):
    """Rendered Markdown. Which elements begin and end, and the pieces of text."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.pieces: list[Piece] = []
        self.unclosed: list[str] = []
        self.wrong: list[str] = []
        """Elements that end where another is open."""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """An element begins."""
        self.tags.append(tag)
        if tag not in _VOID:
            self.unclosed.append(tag)

    def handle_endtag(self, tag: str) -> None:
        """An element ends."""
        if self.unclosed[-1:] == [tag]:
            self.unclosed.pop()
        elif tag not in _VOID:
            self.wrong.append(tag)

    def handle_data(self, data: str) -> None:
        """A piece of text."""
        if self.pieces and self.pieces[-1].inside == tuple(self.unclosed):
            data = self.pieces.pop().text + data
        self.pieces.append(Piece(data, tuple(self.unclosed)))

    @property
    def text(self) -> str:
        """All of it, without isolates, which have no shape."""
        return re.sub("[\u2068\u2069]", "", "".join(piece.text for piece in self.pieces))

    @property
    def open_text(self) -> str:
        """What a reader sees before any click."""
        return "".join(
            piece.text for piece in self.pieces if "details" not in piece.inside or "summary" in piece.inside
        )

    def live(self) -> Iterator[str]:
        """What becomes more than text, a line each."""
        for piece in self.pieces:
            if not {"code", "pre", "a"} & set(piece.inside):
                for what, pattern in _LIVE.items():
                    if found := re.search(pattern, piece.text):
                        yield f"{what}: {found[0]!r} in {piece.text!r}"


def _github(text: str) -> str:
    options = Options.CMARK_OPT_UNSAFE | Options.CMARK_OPT_FOOTNOTES
    return str(cmarkgfm.github_flavored_markdown_to_html(text, options=options))


def _gitlab(text: str) -> str:
    extensions, rendering = comrak.ExtensionOptions(), comrak.RenderOptions()
    for name in [
        "alerts",
        "autolink",
        "description_lists",
        "footnotes",
        "inline_footnotes",
        "math_code",
        "math_dollars",
        "multiline_block_quotes",
        "strikethrough",
        "subscript",
        "superscript",
        "table",
        "tasklist",
        "wikilinks_title_before_pipe",
    ]:
        setattr(extensions, name, True)
    rendering.unsafe_ = True
    return str(comrak.render_markdown(text, extension_options=extensions, render_options=rendering))


FORGES: Mapping[str, Callable[[str], str]] = {"github": _github, "gitlab": _gitlab}


def page(forge: str, markdown: str) -> Page:
    """The page of some Markdown."""
    return Page(FORGES[forge](markdown))
