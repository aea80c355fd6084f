"""What a model server cannot serve is refused with the remedy."""

from __future__ import annotations

from typing import Any

import pytest

from tensorplane.workloads.model_server.workload import ModelServerArgs
from tests.support.problems import dev, problems_of

HERE = {"volume": "models", "path": "digits"}
ERRORS = {"metric": "errorRate", "threshold": 0.01}
ACCURACY = {"metric": "accuracy", "threshold": 0.9}


def tree(**server: Any) -> dict[str, Any]:
    """The dev stack with other settings of its server; None removes one."""
    found = dev()
    args = {**found["workloads"]["digits-server"], **server}
    found["workloads"]["digits-server"] = {key: value for key, value in args.items() if value is not None}
    return found


@pytest.mark.parametrize(
    ("settings", "faults"),
    [
        (tree(), []),
        (tree(model=None, models={"digits": HERE, "other": {**HERE, "path": "others"}}), []),
        (tree(models={"other": HERE}), [".models: conflicts with model; remove one of them"]),
        (tree(model=None), [".model: required setting is missing: the model; set it, or models for several"]),
        (tree(model={**HERE, "versions": "all"}), []),
        (tree(model={**HERE, "versions": {"latest": 2}, "labels": {"stable": 3}}), []),
        (
            tree(model={**HERE, "versions": {"latest": 2, "specific": [3]}}),
            [".model.versions: latest and specific are set; use one of {latest: 2}, {specific: [3, 4]} and all"],
        ),
        (
            tree(model={**HERE, "versions": {"specific": [3, 4]}, "labels": {"stable": 3, "canary": 5}}),
            [".model.labels.canary: is version 5, which is not served; choose one of 3, 4, or add it to versions"],
        ),
        (
            tree(model=None, models={"one": {"volume": "modles", "path": "one"}}),
            [".models.one.volume: no volume is named 'modles'"],
        ),
        (tree(batching={}), []),
        (
            tree(batching={"maxBatchSize": 16, "allowedBatchSizes": [8, 4, 32]}),
            [".batching.allowedBatchSizes: sizes must ascend to maxBatchSize, which is 16; use [4, 8, 16]"],
        ),
        (tree(model={**HERE, "pin": 3}), []),
        (
            tree(model={**HERE, "pin": 3, "versions": {"latest": 2}}),
            [".model.pin: conflicts with versions, which also says what is served; remove one of them"],
        ),
        (
            tree(model={**HERE, "pin": 3, "labels": {"stable": 2}}),
            [".model.labels.stable: is version 2, but only the pinned 3 is served; remove it, or set 3"],
        ),
        (tree(model={**HERE, "canary": {"percent": 25, "gate": ERRORS}}), []),
        (
            tree(model={**HERE, "canary": {"gate": [ERRORS, ERRORS]}}),
            [".model.canary.gate.1.metric: errorRate has a gate already; remove one of them"],
        ),
        (
            tree(model={**HERE, "labels": {"stable": 2}, "canary": {"gate": ERRORS}}),
            [".model.labels: conflicts with canary, which decides what the pods serve; remove one of them"],
        ),
        (
            tree(model={**HERE, "canary": {"gate": {"metric": "accuracy", "threshold": 0.9}}}),
            [".model.canary.gate: metric and threshold are set; use examples with the metric accuracy, and"],
        ),
        (
            tree(model={**HERE, "canary": {"gate": {**ACCURACY, "examples": {"volume": "data", "path": "x"}}}}),
            [".model.canary.gate.examples.volume: no volume is named 'data'"],
        ),
        (
            tree(
                model=None,
                models={"one": {**HERE, "canary": {"gate": ERRORS}}, "two": {**HERE, "canary": {"gate": ERRORS}}},
            ),
            [".models.two.canary: model one has one, and a server tries one model; use a server of its own for two"],
        ),
        (tree(gpuMemoryFraction=0.5), [".gpuMemoryFraction: is set, but the server has no GPU; set resources.gpus"]),
    ],
)
def test_what_cannot_be_served_is_refused(settings: dict[str, Any], faults: list[str]) -> None:
    prefix = "tensorplane:workloads.digits-server"
    found = [line.removeprefix(prefix) for line in problems_of(settings) if line.startswith(prefix)]
    assert len(found) == len(faults), found
    assert all(line.startswith(start) for line, start in zip(found, faults, strict=True)), found


def test_a_job_publishes_to_one_of_several_models() -> None:
    settings = tree(model=None, models={"digits": {**HERE, "path": "served"}, "other": {**HERE, "path": "others"}})
    settings["workloads"]["digits"]["onSuccess"] = {"publish": "digits-server/digits"}
    assert problems_of(settings) == []
    settings["workloads"]["digits"]["onSuccess"] = {"publish": "digits-server"}
    (fault,) = problems_of(settings)
    assert "choose one of digits-server/digits, digits-server/other" in fault


def _renamed(name: str, *, page: dict[str, int] | None, **others: Any) -> list[str]:
    """The faults of the dev stack whose server has this name."""
    found = tree(page=page)
    found["workloads"][name] = found["workloads"].pop("digits-server")
    found["workloads"] |= others
    return problems_of(found)


def test_the_name_of_a_server_leaves_room_for_that_of_its_page() -> None:
    longest = "a" * 58
    assert _renamed(longest, page={"ink": 16}) == []
    assert _renamed(f"{longest}a", page=None) == []
    (line,) = _renamed(f"{longest}a", page={"ink": 16})
    assert line.startswith(f"tensorplane:workloads.{longest}a: the name has 59 characters; shorten it to 58, or remove")


def test_a_workload_has_not_the_name_of_a_page() -> None:
    other = {"kind": "modelServer", "model": {"volume": "models", "path": "other"}}
    assert _renamed("shown", page=None, **{"shown-page": other}) == []
    assert _renamed("shown", page={}, **{"shown-page": other}) == [
        "tensorplane:workloads.shown-page: is also the name of the page of model server shown; use another name"
    ]


def test_a_server_registers_the_gpus_of_its_canary_too() -> None:
    model = {**HERE, "canary": {"percent": 25, "gate": ERRORS}}
    args = ModelServerArgs.model_validate({"model": model, "replicas": 4, "resources": {"gpus": 2}})
    assert [pods.gpus for pods in args.pod_sets()] == [10]
