"""`tensorplane check` refuses every mistake with lines that name its key, and accepts what has none.

Both follow from the seed.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tensorplane.cli import __main__ as tensorplane
from tests.mutants import accepted, refused
from tests.mutants.fresh import BASES, base_of
from tests.support import counts

COUNT = counts.of(quick=20, nightly=10000)
SEED = counts.seed()
_standing: list[Path] = []


class Check:
    """The command, for one text of a stack's file."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self._file, self._capsys = folder / "Pulumi.dev.yaml", capsys
        monkeypatch.setattr("tensorplane.cli.stack_config.file", lambda stack: self._file)

    def __call__(self, text: str) -> tuple[int, list[str]]:
        """The exit code, and the lines of faults."""
        self._file.write_text(text)
        code = tensorplane.main(["check"])
        return code, self._capsys.readouterr().err.splitlines()


@pytest.fixture
def check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Check:
    return Check(tmp_path, monkeypatch, capsys)


@pytest.fixture
def bases(check: Check) -> list[Path]:
    """The stacks and examples that stand alone, without encrypted values: looked for once."""
    if not _standing:
        _standing.extend(base for base in BASES if check(base_of(base).text)[0] == 0)
    assert len(_standing) > len(BASES) / 2
    return _standing


@pytest.mark.counted
def test_every_mistake_is_refused_in_lines_that_name_its_key(check: Check, bases: list[Path]) -> None:
    wrong = []
    for mistake in refused.spoiled(bases, COUNT, SEED):
        code, lines = check(mistake.text)
        if code != 1 or not any(mistake.key in line for line in lines):
            wrong.append(f"{mistake}: exit {code}: {lines}")
        wrong += [f"{mistake}: {line!r}" for line in lines if not line.isprintable() or ": " not in line]
    assert wrong == []


@pytest.mark.counted
def test_what_has_no_mistake_is_accepted(check: Check, bases: list[Path]) -> None:
    wrong = []
    for change in accepted.changes(bases, COUNT, SEED):
        code, lines = check(change.text)
        wrong += [f"{change}: exit {code}: {lines}"] if code else []
    assert wrong == []


def test_a_seed_makes_the_same_files_again() -> None:
    for module in (refused.spoiled, accepted.changes):
        assert list(module(BASES[:3], 22, 1)) == list(module(BASES[:3], 22, 1))
        assert list(module(BASES[:3], 22, 1)) != list(module(BASES[:3], 22, 2))
