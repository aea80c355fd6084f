"""Tables on narrow terminals: no word is broken, and the least important columns go first."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from tensorplane.core import terminal
from tensorplane.core.fitted_table import FittedTable

POD = ("tensorplane-dev-any", "kueue-controller-manager-7d9c8b7f9b-abcde", "ContainerCreating", "0/1", "5 min")


def _lines(width: int, *rows: tuple[str, ...], headings: tuple[str, ...]) -> list[str]:
    table = FittedTable(least=("age", "ready"))
    for heading in headings:
        table.add_column(heading, overflow="ellipsis")
    for row in rows:
        table.add_row(*row)
    output = io.StringIO()
    Console(width=width, file=output).print(table)
    assert all(len(line) <= width for line in output.getvalue().splitlines())
    return [line.rstrip() for line in output.getvalue().splitlines()]


PODS = ("namespace", "name", "state", "ready", "age")


def test_a_wide_terminal_shows_every_cell() -> None:
    assert _lines(160, POD, headings=PODS)[1].split() == " ".join(POD).split()


def test_a_narrow_one_leaves_out_columns_then_shortens_the_longest_name() -> None:
    heading, row = _lines(80, POD, headings=PODS)
    assert heading.split() == ["namespace", "name", "state"]
    assert row == "tensorplane-dev-any  kueue-controller-manager-7d9c8b7f9b-abc…  ContainerCreating"


def test_sentences_wrap_between_words_beside_names_that_stay_whole() -> None:
    reason = "exit code 1; last line: RuntimeError: boom after the third step of this run"
    lines = _lines(60, ("digits-4f2a91c0ab-of-a-long-name", "Failed", reason), headings=("run", "state", "result"))
    words = " ".join(lines).split()
    assert "digits-4f2a91c0ab-of-a-long-name" in words
    assert set(reason.split()) <= set(words)


@pytest.mark.parametrize(("columns", "width"), [("80", 80), ("160", 160), ("", 140), ("many", 140)])
def test_a_pipe_is_as_wide_as_columns_says(columns: str, width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    assert terminal.console().width == width


def test_sentences_are_not_wrapped_in_a_pipe(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    sentence = "digits waits for 4 GPUs: " + "a reason and " * 20 + "an end"
    terminal.console().print(sentence)
    assert capsys.readouterr().out == f"{sentence}\n"
