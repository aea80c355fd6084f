"""The page for users of Pachyderm: what it prints is what the commands print, and it has every term."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tensorplane.cli import __main__ as commands
from tensorplane.cli.pachyderm.spec import Part, PfsInput, Spec, Transform
from tensorplane.cli.stack_config import load
from tests.support.documented import blocks
from tests.support.rendering import PROJECT

PAGE = (PROJECT / "docs" / "from-pachyderm.md").read_text()
_PACHCTL = """
create repo, list repo, inspect repo, delete repo, put file, get file, delete file, copy file, list file, glob file,
inspect file, diff file, start commit, finish commit, list commit, inspect commit, find commit, wait commit,
subscribe commit, squash commit, delete commit, create branch, list branch, delete branch, create pipeline,
update pipeline, edit pipeline, delete pipeline, list pipeline, inspect pipeline, draw pipeline, stop pipeline,
start pipeline, rerun pipeline, validate pipeline, run cron, list job, inspect job, wait job, stop job, delete job,
list datum, inspect datum, restart datum, logs, mount, fsck, auth, create secret, list secret, delete secret,
create project, create defaults, debug dump
"""
"""Commands of Pachyderm 2, apart from those about its own installation and tests."""


def _block(language: str, beginning: str = "") -> str:
    (found,) = [one.text for one in blocks(PAGE) if one.language == language and one.text.startswith(beginning)]
    return found


def test_the_import_prints_what_the_page_shows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "specs.json").write_text(_block("json"))
    assert commands.main(["import", "pachyderm", str(tmp_path / "specs.json")]) == 0
    shown = capsys.readouterr()
    assert shown.out == _block("yaml")
    assert shown.err == _block("text", "sheet.egress.URL")


def test_the_export_prints_what_the_page_shows(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    example = load(PROJECT / "examples" / "pipeline.yaml")
    monkeypatch.setattr("tensorplane.cli.stack_config.load", lambda _: example)
    assert commands.main(["export", "pachyderm", "photos"]) == 0
    assert capsys.readouterr().err == _block("text", "photos.")


@pytest.mark.parametrize("command", [" ".join(one.split()) for one in _PACHCTL.split(",")])
def test_every_command_of_pachctl_has_a_row(command: str) -> None:
    assert re.search(rf"^\|[^|]*`{command}\b[^|]*\|", PAGE, re.MULTILINE)


@pytest.mark.parametrize("model", [Spec, Transform, PfsInput], ids=lambda model: model.__name__)
def test_every_field_of_a_spec_has_a_row(model: type[Part]) -> None:
    of_the_command = {"update", "dry_run"}
    nested = {"transform", "egress", "input", "pipeline"}
    unknown_to_users = {"maximum_expected_uptime", "reference", "err_stdin"}
    fields = {*model.model_fields} - of_the_command - nested - unknown_to_users
    rows = PAGE[PAGE.index("## Fields of a spec") : PAGE.index("## Commands for files")]
    assert sorted(name for name in fields if not re.search(rf"\b{name}\b", rows)) == []
