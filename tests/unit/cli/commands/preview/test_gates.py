"""A changed gate of a canary: whether more or fewer versions pass it, and what else that changes."""

from __future__ import annotations

import pytest

from cli.commands.preview import gates
from cli.commands.preview.report import Report
from workloads.manifests import serves
from workloads.settings.served_model import ServedModel


def _parts(*given: dict[str, object]) -> list[str]:
    """What a server with these gates registers."""
    canary = {"percent": 10, "gate": [{"minRequests": 500, **each} for each in given]}
    model = ServedModel.model_validate({"volume": "models", "path": "digits", "canary": canary})
    return serves.words({"digits": model})["digits"].split("; ")


ERRORS, LATENCY = {"metric": "errorRate", "threshold": 0.01}, {"metric": "latencyP99Millis", "threshold": 50}
ACCURACY = {"metric": "accuracy", "threshold": 0.9, "examples": {"volume": "models", "path": "held.jsonl"}}


@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        ([ERRORS], [{**ERRORS, "threshold": 0.05}],
         "**Weaker gate**: 5 % instead of 1 % of the canary's requests may fail"),
        ([LATENCY], [{**LATENCY, "threshold": 40}],
         "**Stricter gate**: 40 instead of 50 ms for 99 % of the canary's requests"),
        ([ACCURACY], [{**ACCURACY, "threshold": 0.8}],
         "**Weaker gate**: 80 % instead of 90 % of the held-out examples must be right"),
        ([ERRORS], [{**ERRORS, "minRequests": 100}],
         "**Weaker gate**: it decides after 100 requests of the canary instead of 500"),
        ([ERRORS, LATENCY], [ERRORS], "**Weaker gate**: without latencyP99Millis"),
        ([ERRORS], [{**ERRORS, "threshold": 0.02}, LATENCY],
         "**Weaker gate**: 2 % instead of 1 % of the canary's requests may fail. **Stricter gate**: latencyP99Millis "
         "too"),
    ],
)  # fmt: skip
def test_a_changed_gate_is_called_weaker_or_stricter(
    before: list[dict[str, object]], after: list[dict[str, object]], says: str
) -> None:
    sentence = gates.change(_parts(*before), _parts(*after))
    assert sentence == (
        f". {says}. The canary gets 10 % of all requests; a version that passes then gets all of them, and nobody is "
        "asked. The gate applies to a running canary too, and versions that the former gate refused are tried again"
    )


def _weakened(before: list[str], after: list[str]) -> list[str]:
    both = ({"serves": {"digits": "; ".join(before)}}, {"serves": {"digits": "; ".join(after)}})
    return list(gates.weakened(Report("prod", components={"tensorplane:index:ModelServer": {"server": both}})))


def test_a_weaker_gate_says_what_it_lets_through() -> None:
    strict, weak = _parts(ERRORS), _parts({**ERRORS, "threshold": 0.05})
    assert _weakened(strict, weak) == [
        "the gate of server for digits (5 % instead of 1 % of the canary's requests may fail): versions refused before "
        "get 10 % of live requests again and, if they pass, all"
    ]
    assert _weakened(weak, strict) == []


def test_an_equal_gate_and_one_of_a_new_canary_have_no_sentence() -> None:
    assert gates.change(_parts(ERRORS), _parts(ERRORS)) == ""
    assert gates.change(["the newest version"], _parts(ERRORS)) == ""
