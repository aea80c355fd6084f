"""The demonstration of `make up`: the held-out digits as a server answers them, and a server of something else."""

from __future__ import annotations

import io
from typing import Any, cast

import pytest
from rich.console import Console

from tensorplane.core.errors import UserError
from tensorplane.core.kube import Kube
from tensorplane.core.paths import PROJECT
from tensorplane.driver import digits_demo, stack_settings
from tensorplane.driver.watch import Outputs

OUTPUTS = Outputs("ns", "ns", "job", "queue", "server", "server", "digits", {"REST": "http://here/v1/models/digits"})


class Server:
    """Answers as a model server would through the API server's proxy."""

    def __init__(self, status: int, row: Any, most: int = 1000) -> None:
        self.status, self.row, self.most = status, row, most

    def request_service(self, namespace: str, name: str, port: int, path: str, body: Any = None) -> tuple[int, Any]:
        assert (namespace, name, port, path) == ("ns", "server", 8501, "/v1/models/digits:predict")
        if self.status != 200:
            return self.status, "the server's own words"
        if len(body["instances"]) > self.most:
            return 400, f"Task size is larger than maximum input batch size {self.most}"
        return 200, {"predictions": [self.row for _ in body["instances"]]}


def _predict_all(status: int, row: Any) -> digits_demo.Predictions | None:
    return digits_demo.predict_all(cast(Kube, Server(status, row)), OUTPUTS)


def test_only_the_digits_example_and_the_server_of_its_model_are_shown() -> None:
    for file in ("Pulumi.dev.yaml", "examples/aks.yaml", "examples/existing-cluster.yaml"):
        workloads = stack_settings.read(PROJECT / file).section("workloads")
        assert digits_demo.find(workloads) == ("digits", "digits-server")
    other = {**workloads["digits"], "files": {"train.py": "mine/train.py"}}
    assert digits_demo.find({**workloads, "digits": other}) is None
    elsewhere = {**workloads["digits-server"], "model": {"volume": "models", "path": "other"}}
    assert digits_demo.find({**workloads, "digits-server": elsewhere}) is None
    assert digits_demo.find({"digits": workloads["digits"]}) is None


def test_every_held_out_digit_is_asked_and_counted() -> None:
    predictions = _predict_all(200, [0.0] * 3 + [1.0] + [0.0] * 6)
    assert predictions is not None
    assert predictions.total == 359
    assert predictions.predicted == 3
    # A server that always says 3 is right about a tenth of them.
    assert 0.05 < predictions.accuracy < 0.15


@pytest.mark.parametrize("most", [100, 8, 1])
def test_a_server_with_small_batches_is_asked_in_small_requests(most: int) -> None:
    predictions = digits_demo.predict_all(cast(Kube, Server(200, [1.0] + [0.0] * 9, most)), OUTPUTS)
    assert predictions is not None
    assert predictions.total == 359


@pytest.mark.parametrize("status, row", [(400, None), (200, [1.0, 2.0]), (200, 7.0)])
def test_a_model_of_something_else_is_not_asked_for_digits(status: int, row: Any) -> None:
    assert _predict_all(status, row) is None


def test_a_server_in_trouble_is_a_fault_in_its_own_words() -> None:
    with pytest.raises(UserError, match="503: the server's own words"):
        _predict_all(503, None)


def test_the_digit_and_its_answer_are_shown() -> None:
    console = Console(width=120, record=True, file=io.StringIO())
    predictions = _predict_all(200, [0.0] * 2 + [0.9] + [0.0] * 7)
    assert predictions is not None
    digits_demo.show(console, predictions)
    text = console.export_text()
    assert "█" in text
    assert "digit: 2 (it is 2)" in text
