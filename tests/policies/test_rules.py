"""Each rule by its cases: what it refuses and how it says so, and what it lets pass."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from tests.policies import cases_of
from tests.policies.cases_of import Case
from tests.policies.conftest import PACK, Judge, Rules

CASES = cases_of.load()
FEWEST = 3
OLDER = frozenset({"gpu-quota"})
"""Its cases are in test_gpu_quota.py and test_tricks.py."""


@pytest.mark.parametrize("case", [case for case in CASES if case.says], ids=str)
def test_it_refuses(judge: Judge, case: Case) -> None:
    messages = judge(case.rule, case.resources, case.config)[case.rule]
    assert len(messages) == len(case.says), messages
    missing = [said for said in case.says if not any(said in message for message in messages)]
    assert missing == [], messages
    assert all("; " in message for message in messages), "with a remedy"


@pytest.mark.parametrize("case", [case for case in CASES if not case.says], ids=str)
def test_it_lets_pass(judge: Judge, case: Case) -> None:
    assert judge(case.rule, case.resources, case.config)[case.rule] == []


def test_each_rule_has_cases_of_both_kinds(rules: Rules) -> None:
    names = {each["name"] for each in rules}
    assert {case.rule for case in CASES} <= names
    counted = Counter((case.rule, bool(case.says)) for case in CASES)
    few = {
        name: counted[name, kind] for name in names - OLDER for kind in (True, False) if counted[name, kind] < FEWEST
    }
    assert few == {}


def test_each_rule_says_what_it_is_and_what_to_do(rules: Rules) -> None:
    for each in rules:
        assert all(each[key] for key in ("name", "description", "remedy", "severity", "level", "tags")), each["name"]
    assert len({each["name"] for each in rules}) == len(rules) >= 25


def test_configured_keys_are_keys_of_the_rule(rules: Rules) -> None:
    keys = {each["name"]: set(each["config"]) for each in rules}
    assert all(case.config.keys() <= keys[case.rule] for case in CASES)
    for file in PACK.glob("config.*.json"):
        for name, config in json.loads(file.read_text()).items():
            assert config.keys() - {"enforcementLevel"} <= keys[name], f"{file.name}: {name}"
