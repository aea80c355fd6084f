"""Fits that are drawn by a seed: on replicas they equal one process of plain Keras, are refused, or told in a line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import AbstractContextManager
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.runtime import draws, mends
from tests.runtime.drawn_fits import Case
from tests.runtime.launching import Workers, environments, gang
from tests.support import counts
from tests.support.waiting import PATIENT_SECONDS

_PROGRAM = Path(__file__).with_name("drawn_fits.py")
_COUNT = counts.of(quick=2, nightly=180)
_PER_PROGRAM = 10
_MOST = 60
"""How many draws may pass before the fault of a mend that was taken out is found."""
_NIGHTLY = pytest.mark.nightly("a mend that is taken out: minutes of trainings until a draw finds its fault")


def _started(mode: str, cases: list[Case], folder: Path, *, without: str = "") -> AbstractContextManager[Workers]:
    tasks = environments(2) if mode == "workers" else [{}]
    return gang(folder, _PROGRAM, mode, *map(json.dumps, cases), tasks=tasks, WITHOUT=without)


def _outcomes(started: Workers, cases: list[Case]) -> list[Any]:
    """What the program says of each case; of a case at which it has failed, its last lines."""
    started.finish(len(cases) * PATIENT_SECONDS)
    found = [json.loads(line[5:]) for line in started.outputs[0].splitlines() if line.startswith("case ")]
    failed = {"failed": started.output[-1500:]}
    return [*found, *([failed] if len(found) < len(cases) else [])]


def _differences(mode: str, cases: list[Case], folder: Path, *, without: str = "") -> list[str]:
    # Beside each other.
    with _started("plain", cases, folder) as one, _started(mode, cases, folder, without=without) as other:
        plain, several = _outcomes(one, cases), _outcomes(other, cases)
    return [
        f"{json.dumps(case)}: {fault}"
        for case, expected, found in zip(cases, plain, several, strict=False)
        if (fault := _difference(case, expected, found))
    ]


def _difference(case: Case, plain: Any, several: Any) -> str:
    """What is wrong with what several replicas made of a case; empty if nothing is."""
    if "failed" in several or "failed" in plain:
        return str(several.get("failed") or plain["failed"])
    if "refused" in plain:
        # Keras itself cannot do it.
        return ""
    expected = draws.expected(case)
    refused = several.get("refused")
    if expected == "refused" or refused:
        return "" if expected == "refused" and refused and "\n" not in refused else f"refused: {refused}"
    if bool(several["said"]) != (expected != "equal"):
        return f"said: {several['said']}"
    compared = {"equal": plain.keys() - {"said"}, "told of metrics": {"weights", "predicted", "on a batch"}, "told": ()}
    # A variable of "two types" has single precision.
    most = 1e-6 if case["family"] == "two types" else 1e-8
    differs = [name for name in compared[expected] if not _is_same(plain[name], several[name], most)]
    return f"differs: {', '.join(differs)}" if differs else ""


def _is_same(one: Any, other: Any, most: float) -> bool:
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(_is_same(one[name], other[name], most) for name in one)
    if isinstance(one, list) and one and isinstance(one[0], list):
        return len(one) == len(other) and all(_is_same(*pair, most) for pair in zip(one, other, strict=True))
    return np.shape(one) == np.shape(other) and np.allclose(one, other, rtol=most, atol=most / 100)


def _chunks(cases: Iterator[Case], count: int) -> Iterator[list[Case]]:
    while count > 0 and (chunk := list(islice(cases, min(_PER_PROGRAM, count)))):
        count -= len(chunk)
        yield chunk


@pytest.mark.counted
def test_drawn_fits_equal_one_process_or_are_refused_or_told(tmp_path: Path) -> None:
    cases = draws.fits(counts.seed())
    found = []
    for number, chunk in enumerate(_chunks(cases, _COUNT)):
        mode = "workers" if number % 2 else "replicas"
        found += _differences(mode, chunk, tmp_path)
    assert found == []


_KNOWN = [
    Case(family=family, loss=loss, optimizer=optimizer, metric=metric, data=data, run=run)
    for family, loss, optimizer, metric, data, run in (
        ("positions", "sum", "clipnorm", "sums", "one left", "eager"),
        ("masked", "number of a class", "ema and accumulation", "number", "weights", "several steps"),
        ("two types", "number", "adam", "mean", "padded", "graph"),
        ("two outputs", "dice by sample", "own apply", "sums", "uneven", "graph"),
        ("normalized", "mse", "adamw", "mean", "one left", "graph"),
        ("guide", "number", "global_clipnorm", "number", "one left", "graph"),
        ("own mean", "mse", "clipvalue", "mean", "uneven", "graph"),
        ("unique", "mse", "adam", "peak", "uneven", "several steps"),
        ("gan", "mse", "accumulation", "mean", "uneven", "graph"),
    )
]
"""What users have written and replicas once computed otherwise: together they need each mend."""


def test_what_was_once_wrong_is_as_in_one_process(tmp_path: Path) -> None:
    assert _differences("replicas", _KNOWN, tmp_path) == []


def test_a_model_without_call_trains_in_one_process(tmp_path: Path) -> None:
    assert _differences("single", [case for case in _KNOWN if case["family"] == "gan"], tmp_path) == []


@_NIGHTLY
@pytest.mark.parametrize("mend", mends.OF_FITS)
def test_without_a_mend_a_draw_finds_its_fault(tmp_path: Path, mend: str) -> None:
    cases = draws.fits(counts.seed())
    assert any(_differences("replicas", chunk, tmp_path, without=mend) for chunk in _chunks(cases, _MOST))
