"""`tensorplane settings`: all pages, or one."""

from __future__ import annotations

import pytest

from tensorplane.cli.__main__ import main
from tensorplane.cli.commands.settings import reference


def test_one_page_is_printed_alone(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["settings", "queues"]) == 0
    assert capsys.readouterr().out == reference.pages()["queues"]


def test_without_a_page_all_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["settings"]) == 0
    text = capsys.readouterr().out
    assert all(page in text for page in reference.pages().values())


def test_an_unknown_page_is_refused_with_the_known_ones(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["settings", "queue"]) == 1
    assert "page queue does not exist; choose one of README, acknowledge, cluster-aks" in capsys.readouterr().err


def test_a_link_to_another_page_names_its_file() -> None:
    pages = reference.pages()
    assert "[trainingJob](workloads.md#workloadsname-kind-trainingjob)" in pages["README"]
    assert "[single](#workloadsname" in pages["workloads"]


def test_many_choices_stand_below_the_table() -> None:
    page = reference.pages()["volumes"]
    assert "kinds | none |" in page
    assert "- `backend`: One of [azureDisk](volume-backends.md#" in page
