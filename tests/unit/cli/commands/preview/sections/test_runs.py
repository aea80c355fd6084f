"""The section on training runs: a line for each, and nothing where none changes."""

from __future__ import annotations

from tensorplane.cli.commands.preview.report import Report
from tensorplane.cli.commands.preview.sections import runs

LINE = "restarts digits from step 400"


def test_a_run_is_a_note_on_the_terminal_and_an_item_in_markdown() -> None:
    report = Report("dev", runs=(LINE,))
    assert [text.plain for text in runs.terminal(report, 80)] == [f"note: {LINE}"]
    assert list(runs.markdown(report)) == ["## Training runs", f"- {LINE}"]


def test_without_changed_runs_there_is_no_section() -> None:
    assert [*runs.terminal(Report("dev"), 80), *runs.markdown(Report("dev"))] == []
