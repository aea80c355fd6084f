"""Long lines wrap between words, and words that are too long at their joints."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tensorplane.cli.output.texts import folded

_TEXTS = st.text("ab.-/:=[] ", max_size=80)


def test_a_word_that_is_too_long_breaks_at_a_joint_and_else_anywhere() -> None:
    assert folded("a spec.template[0].name: x", 14) == ["a", "spec.template", "[0].name: x"]
    assert folded("abcdefgh", 3) == ["abc", "def", "gh"]


@given(_TEXTS, st.integers(1, 30))
def test_folded_lines_fit_and_keep_every_character(text: str, width: int) -> None:
    lines = folded(text, width)
    assert all(0 < len(line) <= width for line in lines)
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")


@given(_TEXTS, st.integers(1, 30))
def test_words_that_fit_stay_whole(text: str, width: int) -> None:
    words = {word for line in folded(text, width) for word in line.split()}
    assert {word for word in text.split() if len(word) <= width} <= words
