"""Any name and any text is shown as it is, on GitHub and GitLab."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tensorplane.cli.output import escaping
from tensorplane.cli.output import markdown as md
from tensorplane.cli.output.texts import bold
from tests.support import forges
from tests.support.hostile_names import HOSTILE, PIECES

DRAWN = st.lists(st.sampled_from([*PIECES, "a", "1", " ", "-", "."]), min_size=1, max_size=6).map("".join)


def _everywhere(name: str) -> str:
    """The name in every place of a report."""
    return "\n\n".join(
        [
            md.bullets([name, f"volume {bold(name)}: of {name}", f"{name} is deleted; see `a`"]),
            md.table(["name", "b"], [[name, f"{name}: 1 → 2"], [escaping.code(name), bold(name)]]),
            md.fenced([name, f"a {name}"]),
            *md.details("a", [escaping.line(f"of {name}")]),
        ]
    )


def _check(forge: str, name: str) -> None:
    shown, plain = forges.page(forge, _everywhere(name)), forges.page(forge, _everywhere("a"))
    without_code = [[tag for tag in page.tags if tag != "code"] for page in (shown, plain)]
    assert without_code[0] == without_code[1], "no markup"
    assert (shown.wrong, shown.unclosed) == ([], [])
    assert list(shown.live()) == []
    visible = escaping.visible(name)
    assert visible in shown.text or " ".join(visible.split()) in " ".join(shown.text.split())


@pytest.mark.parametrize("forge", forges.FORGES)
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_name_is_text(name: str, forge: str) -> None:
    _check(forge, name)


@pytest.mark.parametrize("forge", forges.FORGES)
@settings(max_examples=150, deadline=None, derandomize=True)
@given(name=DRAWN)
def test_so_is_what_they_are_made_of_in_any_order(name: str, forge: str) -> None:
    _check(forge, name)


def test_what_nobody_would_see_is_spelled_out() -> None:
    assert escaping.line("a\u202egpj\u200b.exe\nb") == "a\\u202egpj\\u200b.exe\\nb"


@pytest.mark.parametrize(
    "text",
    [
        "docs/data.md#delete-a-volume",
        "+$220.16/h at most ($234.71 → $454.87)",
        "min_size",
        "5 % of it",
        "8 x a100-80gb",
    ],
)
def test_ordinary_text_stays_as_it_is(text: str) -> None:
    assert escaping.line(text) == text
