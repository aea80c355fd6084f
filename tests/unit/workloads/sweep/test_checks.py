"""Faults of a sweep: each named with its key and remedy, all at once."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from tests.support.problems import problems_of, put
from tests.support.rendering import PROJECT, settings_of

AT = "tensorplane:workloads.digits-search"


@pytest.fixture
def tree() -> dict[str, Any]:
    return copy.deepcopy(settings_of(PROJECT / "examples" / "sweep.yaml").tree)


def test_the_example_has_none(tree: dict[str, Any]) -> None:
    assert problems_of(tree) == []


@pytest.mark.parametrize(
    ("path", "value", "line"),
    [
        ("search.sampler", "grid", "search.parameters.LEARNING_RATE: has a continuous range, and sampler grid"),
        ("search.parameters.LAYERS", {"low": 4, "high": 1}, "search.parameters.LAYERS: low is 4 and high is 1"),
        ("search.parameters.LAYERS", {}, "search.parameters.LAYERS: has neither choices nor a range"),
        ("search.parameters.LAYERS", {"low": 1, "choices": [1]}, "search.parameters.LAYERS: has choices and a range"),
        ("search.parameters.LAYERS", {"low": 0, "high": 1, "log": True}, "search.parameters.LAYERS.low: is 0, which"),
        ("search.parameters.MODEL_DIR", {"choices": ["a"]}, "search.parameters.MODEL_DIR: "),
        ("search.parallel", 4, "search.parallel: is 4, but queue search holds at most 3 trials at once; set 3"),
        ("search.prunner", "none", "search.prunner: unknown"),
        ("trial.env", {"LAYERS": "2"}, "trial.env.LAYERS: is also a parameter of search"),
        ("trial.queue", "serch", "trial.queue: no queue is named 'serch'"),
    ],
)
def test_a_fault_is_named_by_its_key(tree: dict[str, Any], path: str, value: Any, line: str) -> None:
    put(tree["workloads"]["digits-search"], path.replace(".", "/"), value)
    found = problems_of(tree)
    assert [each for each in found if each.startswith(f"{AT}.{line}")], found


def test_faults_of_search_and_trial_are_reported_together(tree: dict[str, Any]) -> None:
    sweep = tree["workloads"]["digits-search"]
    del sweep["search"]["trials"], sweep["trial"]["checkpoints"]
    keys = {line.split(":")[1] for line in problems_of(tree)}
    assert {"workloads.digits-search.search.trials", "workloads.digits-search.trial.checkpoints"} <= keys


def test_a_grid_knows_its_number_of_trials(tree: dict[str, Any]) -> None:
    search = tree["workloads"]["digits-search"]["search"]
    search |= {"sampler": "grid", "trials": 9}
    del search["parameters"]["LEARNING_RATE"]
    assert problems_of(tree) == [f"{AT}.search.trials: is 9, but the grid has 8 combinations; set 8"]
    del search["trials"]
    assert problems_of(tree) == []


def test_no_public_image_has_optuna(tree: dict[str, Any]) -> None:
    tree["cluster"] = {"kind": "existing", "context": "other"}
    [line] = [each for each in problems_of(tree) if ".controllerImage: " in each]
    assert "tensorplane image build --push REGISTRY/NAME:TAG optuna==" in line


def test_no_other_workload_has_the_name_of_its_controller(tree: dict[str, Any]) -> None:
    tree["workloads"]["digits-search-controller"] = copy.deepcopy(tree["workloads"]["digits-search"])
    name = "tensorplane:workloads.digits-search-controller"
    assert f"{name}: is also the name of the controller of sweep digits-search; use another name" in problems_of(tree)
