"""A changed or removed gate of a canary: whether more or fewer versions pass it, and what else that changes."""

from __future__ import annotations

import pytest

from tensorplane.cli.commands.preview import gates, words
from tensorplane.cli.commands.preview.report import Report
from tensorplane.cli.commands.preview.sections import interrupts
from tensorplane.cli.output.escaping import line as shown
from tensorplane.workloads.model_server import serves
from tensorplane.workloads.model_server.settings import ServedModel


def _parts(*given: dict[str, object], percent: int = 10) -> list[str]:
    """What a server with these gates registers."""
    canary = {"percent": percent, "gate": [{"minRequests": 500, **each} for each in given]}
    return _without_gate(canary=canary)


def _without_gate(**given: object) -> list[str]:
    model = ServedModel.model_validate({"volume": "models", "path": "digits", **given})
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
    sentence = shown(gates.change(_parts(*before), _parts(*after)))
    assert sentence == (
        f". {says}. The canary gets 10 % of all requests; a version that passes then gets all of them, and nobody is "
        "asked. The gate applies to a running canary too, and versions that the former gate refused are tried again"
    )


def _report(before: list[str], after: list[str]) -> Report:
    both = tuple({"serves": {"digits": "; ".join(parts)} if parts else {}} for parts in (before, after))
    return Report("prod", components={"tensorplane:index:ModelServer": {"server": (both[0], both[1])}})


def _weakened(before: list[str], after: list[str]) -> list[str]:
    return list(gates.weakened(_report(before, after)))


def test_a_weaker_gate_says_what_it_lets_through() -> None:
    strict, weak = _parts(ERRORS), _parts({**ERRORS, "threshold": 0.05})
    assert _weakened(strict, weak) == [
        "the gate of server for digits (5 % instead of 1 % of the canary's requests may fail): versions refused before "
        "get 10 % of live requests again and, if they pass, all"
    ]
    assert _weakened(weak, strict) == []


def test_a_larger_canary_weakens_the_gate() -> None:
    small, large = _parts(ERRORS), _parts(ERRORS, percent=60)
    assert _weakened(small, large) == [
        "the gate of server for digits (60 % instead of 10 % of all requests go to versions that have not passed yet): "
        "versions refused before get 60 % of live requests again and, if they pass, all"
    ]
    assert _weakened(large, small) == []
    (line,) = map(shown, words.lines(_report(small, large)))
    assert line.startswith(
        "model server **server**: serves digits: canary of 10 % → canary of 60 %. **Weaker gate**: 60 % instead of "
    ), "the gate itself is as before"


@pytest.mark.parametrize(
    ("after", "says"),
    [
        ({}, "the newest version gets all requests at once, even if the gate refused it, and each later one as soon as "
         "it is published, untried"),
        ({"versions": "all"}, "the newest version gets all requests at once, even if the gate refused it, and each "
         "later one as soon as it is published, untried"),
        ({"pin": 3}, "version 3 gets all requests at once, even if the gate refused it"),
        ({"versions": {"specific": [3]}}, "version 3 gets all requests at once, even if the gate refused it"),
        ({"versions": {"specific": [3, 12]}}, "versions 3, 12 get all requests at once, even if the gate refused them"),
    ],
)  # fmt: skip
def test_a_removed_gate_says_what_answers_without_it(after: dict[str, object], says: str) -> None:
    report = _report(_parts(ERRORS), _without_gate(**after))
    assert f"**Weakens:** the gate of server for digits (removed): {says}." in [
        block.markdown for block in interrupts.head(report)
    ]
    (line,) = map(shown, words.lines(report))
    assert line.endswith(f"{_without_gate(**after)[0]}. **No gate any more**: {says}")


@pytest.mark.parametrize(
    ("before", "after"), [([], _parts(ERRORS)), (_parts(ERRORS), []), (["the newest version"], ["all versions"])]
)
def test_without_a_gate_before_or_a_model_after_nothing_is_weaker(before: list[str], after: list[str]) -> None:
    assert _weakened(before, after) == []


def test_an_equal_gate_and_one_of_a_new_canary_have_no_sentence() -> None:
    assert gates.change(_parts(ERRORS), _parts(ERRORS)) == ""
    assert gates.change(["the newest version"], _parts(ERRORS)) == ""
    (line,) = map(shown, words.lines(_report(["the newest version"], _parts(ERRORS))))
    assert line.endswith(", which a new version must meet before it gets all requests")
