"""Fits that are drawn by a seed and interrupted at a state: fitted again, they end with the same bits."""

from __future__ import annotations

import json
from itertools import islice
from pathlib import Path

import pytest

from tests.runtime import draws, mends
from tests.runtime.drawn_resumes import Case
from tests.runtime.launching import gang
from tests.support import counts
from tests.support.waiting import PATIENT_SECONDS

_PROGRAM = Path(__file__).with_name("drawn_resumes.py")
_COUNT = counts.of(quick=2, nightly=120)
_PER_PROGRAM, _MOST = 10, 200
"""Some mends need a stop in a validation with a callback that changes weights for it: one draw of fifty."""
_NIGHTLY = pytest.mark.nightly("a mend that is taken out: minutes of trainings until a draw finds its fault")


def _differences(cases: list[Case], folder: Path, *, without: str = "") -> list[str]:
    texts = [json.dumps(case) for case in cases]
    with gang(folder, _PROGRAM, *texts, tasks=[{}], WITHOUT=without) as started:
        started.finish(2 * len(cases) * PATIENT_SECONDS)
    lines = [line[5:] for line in started.output.splitlines() if line.startswith("case ")]
    found = [f"{text}: {line}" for text, line in zip(texts, lines, strict=False) if json.loads(line)]
    return [*found, *([f"{texts[len(lines)]}: {started.output[-1500:]}"] if len(lines) < len(texts) else [])]


@pytest.mark.counted
def test_drawn_fits_that_are_interrupted_end_with_the_bits_of_one_that_was_not(tmp_path: Path) -> None:
    cases = draws.resumes(counts.seed())
    chunks = [list(islice(cases, min(_PER_PROGRAM, _COUNT - begin))) for begin in range(0, _COUNT, _PER_PROGRAM)]
    assert [fault for chunk in chunks for fault in _differences(chunk, tmp_path)] == []


_FOUND = Case(
    family="dropout",
    loss="mse",
    optimizer="averages",
    metric="mean",
    callbacks="looks",
    data="cached shuffle",
    run="graph",
    fits=1,
    replicas=1,
    how="stop",
    point="on_test_batch_end",
    call=4,
)


def test_what_draws_have_found(tmp_path: Path) -> None:
    """A stop in the validation of data of which a cache keeps the order; one before data end within an epoch."""
    ending = Case(**_FOUND | {"data": "more steps than batches", "fits": 2, "point": "on_epoch_end", "call": 2})
    assert _differences([_FOUND, Case(**_FOUND | {"replicas": 2}), ending], tmp_path) == []


@_NIGHTLY
@pytest.mark.parametrize("mend", mends.OF_RESUMES)
def test_without_a_mend_a_draw_finds_its_fault(tmp_path: Path, mend: str) -> None:
    cases = draws.resumes(counts.seed())
    chunks = (list(islice(cases, _PER_PROGRAM)) for _ in range(_MOST // _PER_PROGRAM))
    assert any(_differences(chunk, tmp_path, without=mend) for chunk in chunks)
