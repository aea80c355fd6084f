"""YAML that programs in Go read as it was meant."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from tensorplane import stack_file
from tensorplane.stack_file import dumping
from tests.support import counts
from tests.unit.stack_file.test_reading import SPELLINGS

_ODD = ("1e3", "1e-4", "6e7", "08", ".5e1", "y", "N", "a\u0085b", "a\u2028b", "tab\t", "\x07", " a ", "- a", "é\n")


def _read(folder: Path, text: str) -> object:
    """What Pulumi reads of a text."""
    file = folder / "Pulumi.t.yaml"
    written = {"config": {"tensorplane:workloads": {"w": {"env": {"A": text}}}}}
    file.write_text(dumping.dumped(written, allow_unicode=True), encoding="utf-8")
    found = stack_file.read(file)
    assert not found.problems
    assert not found.rewritten
    return found.config["tensorplane:workloads"]["w"]["env"]["A"]


@pytest.mark.parametrize("text", [*SPELLINGS, *_ODD])
def test_a_text_is_read_as_this_text(tmp_path: Path, text: str) -> None:
    assert _read(tmp_path, text) == text
    assert yaml.safe_load(dumping.dumped_all([text])) == text


@pytest.mark.counted
@settings(max_examples=counts.of(quick=100, nightly=5000))
@given(text=st.text(st.sampled_from("0123456789eExXoObB+-._ab:~n"), max_size=6))
def test_what_looks_like_a_number_is_read_as_text(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    assert _read(tmp_path_factory.getbasetemp(), text) == text


@pytest.mark.parametrize("value", [1000, 0.5, True, None, "plain", "two words"])
def test_what_needs_no_quotes_has_none(value: object) -> None:
    assert dumping.dumped({"a": value}) == yaml.safe_dump({"a": value})
