"""Records and the answers of a model server: what is a result, what is refused, and what must be asked again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tensorplane.model_client import Unavailable, results
from tests.stream.model_server import ModelServer
from tests.support.ports import free_ports


class Scripted(ModelServer):
    """Gives the next of these answers, then those of the model."""

    def __init__(self) -> None:
        super().__init__()
        self.next: list[tuple[int, Any] | None] = []

    def answer(self, body: Any) -> tuple[int, Any] | None:
        own = super().answer(body)
        return self.next.pop(0) if self.next else own


@pytest.fixture
def server() -> Iterator[Scripted]:
    """A server that answers."""
    made = Scripted()
    with made.running():
        yield made


def test_a_record_that_is_refused_holds_up_no_other_of_its_request(server: Scripted) -> None:
    found = results(server.url, [b"1", b'"a"', b"3"])
    assert found == [{"prediction": 2}, {"error": "'a' is no number"}, {"prediction": 6}]


def test_a_record_that_is_no_instance_is_never_sent(server: Scripted) -> None:
    wide = "[1]".encode("utf-16")
    tombstone, broken, constant, wide_result = results(server.url, [None, b"\xff", b"[Infinity]", wide])
    assert tombstone == {"error": "the record has no value"}
    assert broken["error"].startswith("the record is no JSON")
    assert constant == {"error": "the record is no JSON: Infinity is no number of JSON"}
    assert wide_result["error"].startswith("the record is no JSON")
    assert results(server.url, [b"[1e400]", b"-2e309"]) == [
        {"error": f"the record is no JSON: {number} is too large for a number of 64 bits"}
        for number in ("1e400", "-2e309")
    ]
    assert server.asked == 0


@pytest.mark.parametrize(
    "answer",
    [
        None,
        (404, {"error": "Servable not found for request: Latest(double)"}),
        (429, {"error": "slow down"}),
        (500, {"error": "internal"}),
        (503, {"error": "overloaded"}),
        (200, {"outputs": [2]}),
        (200, "no predictions"),
    ],
)
def test_every_other_answer_is_no_result(server: Scripted, answer: tuple[int, Any] | None) -> None:
    server.next = [answer]
    with pytest.raises(Unavailable):
        results(server.url, [b"1"])
    assert results(server.url, [b"1"]) == [{"prediction": 2}]


def test_a_server_that_is_not_there_is_unavailable(server: Scripted) -> None:
    with pytest.raises(Unavailable, match="URLError"):
        results(f"http://127.0.0.1:{free_ports(1)[0]}/v1/models/double:predict", [b"1"])


def test_predictions_that_belong_to_no_record_are_none(server: Scripted) -> None:
    server.next = [(200, {"predictions": [2, 4, 6]})]
    assert results(server.url, [b"1", b"2"]) == [{"prediction": 2}, {"prediction": 4}]
    server.next = [(200, {"predictions": [2, 4, 6]})]
    (refused,) = results(server.url, [b"1"])
    assert refused["error"] == "the answer has another number of predictions than instances"


@pytest.mark.parametrize("wrong", [float("nan"), float("inf"), [1.0, [-float("inf")]], {"score": float("nan")}])
def test_a_prediction_that_is_no_json_is_an_error_of_its_record_alone(server: Scripted, wrong: Any) -> None:
    server.next = [(200, {"predictions": [1, wrong]})]
    error = {"error": "the model predicts NaN or Infinity, which are no numbers of JSON"}
    assert results(server.url, [b"1", b"2"]) == [{"prediction": 1}, error]
