"""`fit` on two workers equals `fit` in one process with the same global batches, the last of which has one sample."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.runtime.fit_cases import MODELS, OPTIMIZERS
from tests.runtime.launching import LIBRARY, environments
from tests.support.environment import of_machine
from tests.support.waiting import PATIENT_SECONDS

_PROGRAM = Path(__file__).with_name("fit_cases.py")
_EXACT = 1e-9
_LONG = 20 * PATIENT_SECONDS


def _run(cases: list[str], folder: Path, *, workers: int = 2, replicas: int = 1, seconds: float) -> list[Any]:
    """The results of all workers, case by case."""
    processes = []
    for index, environment in enumerate(environments(workers)):
        own = {**of_machine(), "PYTHONPATH": str(LIBRARY), "TF_CPP_MIN_LOG_LEVEL": "2"}
        own |= {"REPLICAS": str(replicas), **environment}
        with (folder / f"out-{index}").open("w") as output:
            argv = [sys.executable, str(_PROGRAM), *cases]
            processes.append(subprocess.Popen(argv, env=own, stdout=output, stderr=subprocess.STDOUT))
    try:
        codes = [process.wait(seconds) for process in processes]
    finally:
        for process in processes:
            process.kill()
            process.wait()
    outputs = [(folder / f"out-{index}").read_text() for index in range(workers)]
    assert codes == [0] * workers, outputs[0][-3000:]
    results = [
        [json.loads(line.removeprefix("case ")) for line in output.splitlines() if line.startswith("case ")]
        for output in outputs
    ]
    assert len(results[0]) == len(cases)
    assert all([one["checksum"] for one in worker] == [one["checksum"] for one in results[0]] for worker in results)
    return results[0]


def _assert_equal(results: list[Any]) -> None:
    for result in results:
        several, single = result["several"], result["single"]
        assert result["apart"] < _EXACT < 0.01 < result["moved"], result
        assert several == pytest.approx(single, rel=_EXACT), result
        assert result["predict_several"] == pytest.approx(result["predict_single"], rel=_EXACT), result


def test_two_workers_equal_one_process(tmp_path: Path) -> None:
    cases = ["dense:clipped:float64:1", "normalized:adam:float64:3", "dense:adam:float32:1"]
    *exact, single_precision = _run(cases, tmp_path, seconds=3 * PATIENT_SECONDS)
    _assert_equal(exact)
    _assert_within_spread([single_precision])


@pytest.mark.nightly
@pytest.mark.parametrize("model", sorted(set(MODELS) - {"dropout"}))
def test_two_workers_equal_one_process_for_each_layer_family_and_optimizer(tmp_path: Path, model: str) -> None:
    cases = [f"{model}:{optimizer}:float64:{1 + index % 3}" for index, optimizer in enumerate(OPTIMIZERS)]
    _assert_equal(_run(cases, tmp_path, replicas=2, seconds=_LONG))


@pytest.mark.nightly
@pytest.mark.parametrize("model", sorted(set(MODELS) - {"dropout"}))
def test_in_float32_two_workers_differ_no_more_than_another_order_of_summation(tmp_path: Path, model: str) -> None:
    _assert_within_spread(_run([f"{model}:{one}:float32:1" for one in OPTIMIZERS], tmp_path, seconds=_LONG))


def _assert_within_spread(results: list[Any]) -> None:
    for result in results:
        assert result["spread"] > 0 and result["apart"] <= 10 * result["spread"], result


@pytest.mark.nightly
def test_dropout_and_mixed_precision_end_with_a_similar_loss(tmp_path: Path) -> None:
    cases = ["dropout:adam:float32:1", "dense:adam:mixed_float16:2", "convolutional:momentum:mixed_bfloat16:1"]
    for result in _run(cases, tmp_path, seconds=_LONG):
        assert result["several"]["val_loss"] == pytest.approx(result["single"]["val_loss"], rel=0.1), result


@pytest.mark.nightly
def test_replicas_of_one_process_equal_one_process(tmp_path: Path) -> None:
    models = sorted(set(MODELS) - {"dropout"})
    cases = [f"{model}:{optimizer}:float64:2" for model, optimizer in zip(models, itertools.cycle(OPTIMIZERS))]
    _assert_equal(_run(cases, tmp_path, workers=1, replicas=3, seconds=_LONG))
