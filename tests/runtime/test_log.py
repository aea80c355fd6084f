"""The library's lines: their form, which other programs read, and the estimated rest of a run."""

from __future__ import annotations

import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path

import pytest
import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st

from tensorplane import log, loop, metrics
from tensorplane.checkpoints.run_folder import RunFolder
from tensorplane.cluster import Place
from tensorplane.driver.runs import log_line
from tensorplane.progress import Progress
from tests.support.clock import Clock


def test_a_line_is_names_and_values(capsys: pytest.CaptureFixture[str]) -> None:
    log.say(step=50, loss="0.25", resumed=False, path="a folder", reason='"=', empty="")
    printed = capsys.readouterr().out
    assert printed == 'tensorplane: step=50 loss=0.25 resumed=False path="a folder" reason="\\"=" empty=""\n'


@given(st.dictionaries(st.from_regex(r"[a-z_]+", fullmatch=True), st.text(), max_size=3))
def test_any_value_can_be_read_back(facts: dict[str, str]) -> None:
    words = " ".join(f"{name}={log._word(value)}" for name, value in facts.items())
    assert "\n" not in words
    assert log_line.parse(f"tensorplane: {words}") == facts


def test_programs_of_deployed_runs_find_say_where_it_was() -> None:
    assert vars(loop)["say"] is log.say


def test_the_estimate_leaves_out_the_first_steps_with_their_tracing() -> None:
    clock = Clock()
    pace = log.Pace(100, 1100, clock)
    clock.now = 60
    assert pace.report(200) == {"steps_per_second": "1.7", "percent": "18.2", "eta_seconds": "540"}
    clock.now = 70
    assert pace.report(300) == {"steps_per_second": "10.0", "percent": "27.3", "eta_seconds": "80"}


def test_the_estimate_contains_saves_and_validations() -> None:
    clock = Clock()
    pace = log.Pace(0, 1000, clock)
    for step, now in ((10, 5), (110, 15), (210, 125)):
        clock.now = now
        facts = pace.report(step)
    assert facts["eta_seconds"] == str(790 * 120 // 200)


def test_data_without_a_known_end_has_no_estimate() -> None:
    clock = Clock()
    pace = log.Pace(0, None, clock)
    clock.now = 2
    assert pace.report(10) == {"steps_per_second": "5.0"}


def _progress(clock: Clock, environment: Mapping[str, str], *, index: int = 0, steps: int | None = 100) -> Progress:
    place = Place(2, index)
    return Progress(place, 0, steps, examples_per_step=64, environment=environment, clock=clock)


def test_a_loop_that_asks_reports_the_first_and_the_last_step_and_one_in_two_seconds() -> None:
    clock = Clock()
    progress = _progress(clock, {})
    reported = []
    for step in range(1, 101):
        clock.now += 0.125
        if progress.due(step):
            progress.report(step)
            reported.append(step)
    assert reported == [1, 17, 33, 49, 65, 81, 97, 100]


@pytest.mark.parametrize("steps", [60, None])
def test_a_trial_of_a_sweep_also_reports_where_trials_are_compared(steps: int | None) -> None:
    progress = _progress(Clock(), {"TENSORPLANE_RUNGS": "10:3"}, steps=steps)
    progress.report(1)
    assert {step for step in range(2, 60) if progress.due(step)} == {10, 30}


def test_only_the_chief_prints(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    clock = Clock()
    for index in (1, 0):
        progress = _progress(clock, {"TENSORBOARD_DIR": str(tmp_path / str(index))}, index=index)
        clock.now += 1
        progress.report(50, loss=0.5)
    assert capsys.readouterr().out == (
        "tensorplane: step=50 loss=0.500000 steps_per_second=50.0 percent=50.0 eta_seconds=1\n"
    )
    assert [path.name for path in tmp_path.iterdir()] == ["0"], "only the chief writes scalars"


def test_tensorboard_reads_the_scalars(tmp_path: Path) -> None:
    clock = Clock()
    progress = _progress(clock, {"TENSORBOARD_DIR": str(tmp_path)})
    for step in (10, 20):
        clock.now += 1
        progress.report(step, loss=1 / step)
    (file,) = tmp_path.iterdir()
    found = [
        (value.tag, event.step, round(float(tf.make_ndarray(value.tensor)), 6), value.metadata.plugin_data.plugin_name)
        for event in tf.compat.v1.train.summary_iterator(str(file))
        for value in event.summary.value
    ]
    assert found == [
        ("loss", 10, 0.1, "scalars"),
        ("steps_per_second", 10, 10.0, "scalars"),
        ("loss", 20, 0.05, "scalars"),
        ("steps_per_second", 20, 10.0, "scalars"),
    ]


def _scraped(port: int, path: str = "/metrics") -> str:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}") as answer:
        return str(answer.read().decode())


def test_prometheus_reads_the_metrics(capsys: pytest.CaptureFixture[str]) -> None:
    port = metrics.serve({"TENSORPLANE_METRICS_PORT": "0"})
    assert port
    before = _values(_scraped(port))
    clock = Clock()
    progress = _progress(clock, {"TENSORPLANE_METRICS_PORT": "0"}, index=1)
    clock.now += 4
    progress.report(8, loss=0.5, waited_seconds=0.25)
    after = _values(_scraped(port))
    grown = {name: after[name] - before[name] for name in after if name.endswith(("_total", "_sum", "_count"))}
    assert grown["tensorplane_steps_total"] == grown["tensorplane_step_seconds_count"] == 8
    assert grown["tensorplane_step_seconds_sum"] == 4
    assert grown["tensorplane_input_wait_seconds_total"] == 0.25
    assert (after["tensorplane_loss"], after["tensorplane_step"]) == (0.5, 8)
    assert after["tensorplane_examples_per_second"] == 128
    assert capsys.readouterr().out == ""


def _values(text: str) -> dict[str, float]:
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    typed = {line.split()[2] for line in text.splitlines() if line.startswith("# TYPE ")}
    assert {name.removesuffix("_sum").removesuffix("_count") for name, _ in map(str.split, lines)} == typed
    return {name: float(value) for name, value in map(str.split, lines)}


def test_other_paths_are_not_found() -> None:
    port = metrics.serve({"TENSORPLANE_METRICS_PORT": "0"})
    assert port
    with pytest.raises(urllib.error.HTTPError, match="404"):
        _scraped(port, "/")


def test_without_the_variable_nothing_listens() -> None:
    assert metrics.serve({}) is None


@pytest.mark.parametrize("port", ["http", "70000", "-1"])
def test_a_port_that_cannot_be_used_is_told_and_training_continues(
    port: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert metrics.serve({"TENSORPLANE_METRICS_PORT": port}) is None
    printed = capsys.readouterr().out
    assert printed.startswith(f'tensorplane: metrics="TENSORPLANE_METRICS_PORT={port}: ')
    assert printed.endswith('; training continues without the endpoint"\n')


def test_restarts_of_the_run_are_a_metric(tmp_path: Path) -> None:
    run = tmp_path / "digits-1"
    for restarts in range(3):
        RunFolder(run).take_over("1")
        Progress(Place(), 0, environment={"CHECKPOINT_DIR": str(run)})
        assert f"tensorplane_restarts {float(restarts)}\n" in metrics.text()
