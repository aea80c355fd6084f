"""Where the program that records GPU-hours runs, and with which rights."""

from __future__ import annotations

import copy
from typing import Any

import stack
from components.base.settings import Settings
from components.queues import usage
from tests.support import rendering
from tests.unit.queues.test_quota_return import TREE


def _made(**changes: Any) -> rendering.Rendered:
    tree = copy.deepcopy(TREE) | changes
    return rendering.run(lambda: stack.build(stack.load(Settings(tree))))


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
    }


def test_it_does_not_run_without_gpus_in_queues() -> None:
    made = _made(nodeGroups={"cores": {"max": 2}}, queues={"research": {"cpus": 2, "memoryGib": 4}})
    assert usage.ACCOUNT not in [one.name for one in made.all("Deployment")]
