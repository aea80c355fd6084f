"""Where the program that records GPU-hours runs, and with which rights."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from tensorplane.components.base.recorded_usage import VARIABLE, Used
from tensorplane.components.queues import usage
from tensorplane.core.errors import UserError
from tests.support import rendering
from tests.support.rendered_files import rendered_tree
from tests.unit.queues.test_quota_return import TREE


def _made(**changes: Any) -> rendering.Rendered:
    tree = copy.deepcopy(TREE) | changes
    return rendered_tree(tree)


def test_it_counts_the_stack_and_its_teams_with_another_kueue_too() -> None:
    for changes in ({}, {"controllers": {"kueue": "present"}}):
        made = _made(**changes)
        spec = made.one("Deployment", usage.ACCOUNT).inputs["spec"]["template"]["spec"]
        (container,) = spec["containers"]
        home, *counted = container["command"][3:]
        assert container["command"][:3] == ["python3", "-m", "agents.usage"]
        assert counted == [home, "vision"]


def test_it_may_write_its_records_and_nothing_else() -> None:
    roles = [one.inputs for one in _made().all("Role") if one.name.startswith(usage.ACCOUNT)]
    rules = {
        (one["metadata"]["namespace"] == "vision", verb, *rule["resources"], *rule.get("resourceNames", ()))
        for one in roles
        for rule in one["rules"]
        for verb in rule["verbs"]
    }
    home = roles[0]["metadata"]["namespace"]
    records = ("configmaps", f"usage.{home}", "usage.vision")
    assert rules == {
        (True, "list", "workloads"),
        (False, "list", "workloads"),
        (False, "create", "configmaps"),
        (False, "get", *records),
        (False, "patch", *records),
        (False, "get", "leases", "agent.queue.usage"),
        (False, "patch", "leases", "agent.queue.usage"),
    }


def test_it_does_not_run_without_gpus_in_queues() -> None:
    made = _made(nodeGroups={"cores": {"max": 2}}, queues={"research": {"cpus": 2, "memoryGib": 4}})
    assert usage.ACCOUNT not in [one.name for one in made.all("Deployment")]


_BUDGET = {"teams": {"vision": {"gpus": 2, "budget": {"gpuHours": 100}}, "speech": {}}}


def _budgets(made: rendering.Rendered) -> Any:
    return made.exports.get("usage")


def test_a_budget_is_registered_with_what_the_cluster_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    unknown = {"gpuHours": 100, "used": None, "month": "", "gpus": 2}
    assert _budgets(_made(**_BUDGET)) == {"vision": unknown}
    monkeypatch.setenv(VARIABLE, Used("2026-11", {"vision": 120.5}).written())
    assert _budgets(_made(**_BUDGET)) == {"vision": {"gpuHours": 100, "used": 120.5, "month": "2026-11", "gpus": 2}}
    monkeypatch.setenv(VARIABLE, Used("2026-11", {}).written())
    assert _budgets(_made(**_BUDGET))["vision"]["used"] == 0


def test_without_budgets_the_stack_exports_no_usage() -> None:
    assert _budgets(_made()) is None


def test_a_budget_of_a_team_without_gpus_is_refused() -> None:
    with pytest.raises(UserError) as refused:
        _made(teams={"vision": {}, "speech": {"budget": {"gpuHours": 1}}})
    assert str(refused.value) == (
        "tensorplane:teams.speech.budget: is set, but the queues of team speech have no GPUs; give a queue of the team "
        "GPUs, or remove it"
    )
