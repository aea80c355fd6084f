"""A violating and a compliant case of each rule through the real engine: many in one state, by `policy analyze`."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from tests.hosts.engine import Engine
from tests.policies import cases_of
from tests.policies.cases_of import Case
from tests.policies.conftest import PACK, Judge
from tests.policies.stacks import UNKNOWN_OBJECT, Resource

MOST_BATCHES = 15


def chosen(violating: bool) -> list[Case]:
    """The first case of each rule whose values are all known: a state has no others."""
    found: dict[str, Case] = {}
    for case in cases_of.load():
        if bool(case.says) == violating and UNKNOWN_OBJECT not in json.dumps(case.resources):
            found.setdefault(case.rule, case)
    return list(found.values())


def together(cases: Sequence[Case]) -> tuple[list[Resource], dict[str, Any]]:
    """The cases in one stack, and the configuration of their rules. A name that an earlier case has gets a prefix."""
    found: dict[tuple[str, str], Resource] = {}
    for case in cases:
        own = [one for one in case.resources if one["name"] != "bystander"]
        prefix = _prefix(case) if any((one["type"], one["name"]) in found for one in own) else ""
        for one in own:
            parent = f"{prefix}{one['parent']}" if one["parent"] else ""
            found[one["type"], f"{prefix}{one['name']}"] = {**one, "name": f"{prefix}{one['name']}", "parent": parent}
    return list(found.values()), {case.rule: dict(case.config) for case in cases}


def _prefix(case: Case) -> str:
    return f"{case.rule}--"


def agree(judge: Judge, cases: Sequence[Case]) -> bool:
    """Whether each case says in this company what it says alone."""
    told = judge("*", *together(cases))
    return all(
        len(told[case.rule]) == len(case.says) and not missing(case, "\n".join(told[case.rule])) for case in cases
    )


def missing(case: Case, told: str) -> list[str]:
    """What the case should say and is not in the text."""
    return [said for said in case.says if said not in told.replace(_prefix(case), "")]


def batches(judge: Judge, cases: Sequence[Case]) -> Iterator[list[Case]]:
    """The cases in as few stacks as need be."""
    left = list(cases)
    while left:
        batch: list[Case] = []
        for case in left:
            if agree(judge, [*batch, case]):
                batch.append(case)
        assert batch, left
        left = [case for case in left if case not in batch]
        yield batch


def analyze(engine: Engine, folder: Path, cases: Sequence[Case]) -> str:
    """What the engine prints of a state with these cases."""
    resources, config = together(cases)
    project = engine.project(folder).started()
    (project.folder / "state.json").write_text(json.dumps(_state(resources)))
    (project.folder / "policies.json").write_text(json.dumps(config))
    project.run("stack", "import", "--stack", "dev", "--file", "state.json")
    judged = project.start(
        *("policy", "analyze", "--stack", "dev", "--policy-pack", str(PACK), "--policy-pack-config", "policies.json")
    )
    return judged.communicate()[0]


def _state(resources: Sequence[Resource]) -> dict[str, Any]:
    root = "urn:pulumi:dev::tiny::pulumi:pulumi:Stack::tiny-dev"
    urns = {one["name"]: f"urn:pulumi:dev::tiny::{one['type']}::{one['name']}" for one in reversed(resources)}
    made = [
        {
            "urn": f"urn:pulumi:dev::tiny::{one['type']}::{one['name']}",
            "custom": False,
            "type": one["type"],
            "outputs": one["props"],
            "parent": urns[one["parent"]] if one["parent"] else root,
            "protect": bool(one.get("protect")),
        }
        for one in resources
    ]
    stack = {"urn": root, "custom": False, "type": "pulumi:pulumi:Stack"}
    version = "v3"
    # The engine takes a state without this for a corrupted one.
    magic = hashlib.sha256(version.encode()).hexdigest()
    manifest = {"time": "2026-01-01T00:00:00Z", "magic": magic, "version": version}
    return {"version": 3, "deployment": {"manifest": manifest, "resources": [stack, *made]}}


ALL = pytest.mark.nightly("a case of each rule without an engine: test_rules")


@pytest.mark.parametrize(
    ("violating", "most"),
    [
        pytest.param(True, 1, id="violating, of one batch"),
        pytest.param(True, MOST_BATCHES, id="violating", marks=ALL),
        pytest.param(False, MOST_BATCHES, id="compliant", marks=ALL),
    ],
)
def test_a_case_of_each_rule(judge: Judge, engine: Engine, tmp_path: Path, violating: bool, most: int) -> None:
    cases = chosen(violating)
    found = list(islice(batches(judge, cases), most))
    assert most < MOST_BATCHES or sum(map(len, found)) == len(cases)
    for number, batch in enumerate(found):
        printed = analyze(engine, tmp_path / f"batch-{number}", batch)
        assert "tensorplane@v" in printed, printed
        for case in batch:
            assert (f"  {case.rule}  (" in printed) == violating, f"{case}\n{printed}"
            assert missing(case, printed) == [], f"{case}\n{printed}"
