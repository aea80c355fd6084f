"""`fit` on two workers equals `fit` in one process with the same global batches, the last of which has one sample."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest

from tests.runtime.fit_cases import MODELS, OPTIMIZERS
from tests.runtime.launching import environments, gang
from tests.support.waiting import PATIENT_SECONDS

_PROGRAM = Path(__file__).with_name("fit_cases.py")
_EXACT = 1e-9
_LONG = 20 * PATIENT_SECONDS
_NIGHTLY = pytest.mark.nightly("minutes of trainings; the test above is one of them")


def _run(cases: list[str], folder: Path, *, workers: int = 2, replicas: int = 1, **environment: str) -> list[Any]:
    """The results of all workers, case by case."""
    tasks = environments(workers)
    with gang(folder, _PROGRAM, *cases, tasks=tasks, REPLICAS=str(replicas), **environment) as started:
        codes = started.finish(_LONG)
    assert codes == [0] * workers, started.output[-3000:]
    results = [
        [json.loads(line.removeprefix("case ")) for line in output.splitlines() if line.startswith("case ")]
        for output in started.outputs
    ]
    assert len(results[0]) == len(cases)
    assert all([one["checksum"] for one in worker] == [one["checksum"] for one in results[0]] for worker in results)
    return results[0]


def _assert_same(results: list[Any]) -> None:
    for result in results:
        several, single = result["several"], result["single"]
        assert result["apart"] < _EXACT < 0.01 < result["moved"], result
        assert several == pytest.approx(single, rel=_EXACT), result
        assert result["predict_several"] == pytest.approx(result["predict_single"], rel=_EXACT), result


def test_two_workers_equal_one_process(tmp_path: Path) -> None:
    _assert_same(_run(["normalized:clipped:float64:3"], tmp_path, EPOCHS="3"))


@_NIGHTLY
@pytest.mark.parametrize("model", sorted(set(MODELS) - {"dropout"}))
def test_two_workers_equal_one_process_for_each_layer_family_and_optimizer(tmp_path: Path, model: str) -> None:
    cases = [f"{model}:{optimizer}:float64:{1 + index % 3}" for index, optimizer in enumerate(OPTIMIZERS)]
    _assert_same(_run(cases, tmp_path, replicas=2))


@_NIGHTLY
@pytest.mark.parametrize("model", sorted(set(MODELS) - {"dropout"}))
def test_in_float32_two_workers_differ_no_more_than_another_order_of_summation(tmp_path: Path, model: str) -> None:
    _assert_within_spread(_run([f"{model}:{one}:float32:1" for one in OPTIMIZERS], tmp_path))


def _assert_within_spread(results: list[Any]) -> None:
    for result in results:
        assert result["spread"] > 0 and result["apart"] <= 10 * result["spread"], result


@_NIGHTLY
def test_dropout_and_mixed_precision_end_with_a_similar_loss(tmp_path: Path) -> None:
    cases = ["dropout:adam:float32:1", "dense:adam:mixed_float16:2", "convolutional:momentum:mixed_bfloat16:1"]
    for result in _run(cases, tmp_path):
        assert result["several"]["val_loss"] == pytest.approx(result["single"]["val_loss"], rel=0.1), result


@_NIGHTLY
def test_replicas_of_one_process_equal_one_process(tmp_path: Path) -> None:
    models = sorted(set(MODELS) - {"dropout"})
    cases = [f"{model}:{optimizer}:float64:2" for model, optimizer in zip(models, itertools.cycle(OPTIMIZERS))]
    _assert_same(_run(cases, tmp_path, workers=1, replicas=3))
