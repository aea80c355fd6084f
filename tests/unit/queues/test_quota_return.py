"""Where the program that returns quota runs, and with which rights."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from tensorplane.components.queues import quota_return
from tests.support import rendering
from tests.support.rendered_files import rendered_tree

TREE: dict[str, Any] = {
    "cluster": {"kind": "existing", "context": "lab"},
    "nodeGroups": {"turing": {"accelerator": "t4", "perNode": 4, "min": 1, "max": 2}},
    "teams": {"vision": {}},
    "queues": {"research": {"gpus": {"t4": 4}, "teams": ["vision"]}},
}


def _made(**changes: Any) -> rendering.Rendered:
    tree = copy.deepcopy(TREE) | changes
    return rendered_tree(tree)


def test_it_runs_where_the_stacks_own_kueue_gives_gpus() -> None:
    made = _made()
    spec = made.one("Deployment", quota_return.ACCOUNT).inputs["spec"]["template"]["spec"]
    (container,) = spec["containers"]
    assert container["command"][:3] == ["python3", "-m", "agents.quota_return"]
    assert container["command"][-1] == "vision"
    roles = [one.inputs for one in made.all("Role") if one.name.startswith(quota_return.ACCOUNT)]
    assert {one["metadata"]["namespace"] for one in roles} == set(container["command"][3:])
    rules = [rule for one in roles for rule in one["rules"] if rule["resources"] != ["leases"]]
    assert {verb for rule in rules for verb in rule["verbs"]} == {"list", "patch"}


@pytest.mark.parametrize(
    "changes",
    [
        {"controllers": {"kueue": "present"}},
        {
            "nodeGroups": {"cores": {"max": 2}},
            "queues": {"research": {"cpus": 2, "memoryGib": 4}},
        },
    ],
)
def test_it_does_not_run_elsewhere(changes: dict[str, Any]) -> None:
    assert quota_return.ACCOUNT not in [one.name for one in _made(**changes).all("Deployment")]


def test_it_takes_flavors_without_nodes_out_where_nothing_adds_nodes() -> None:
    fixed = {"turing": {"accelerator": "t4", "perNode": 4, "min": 2, "max": 2}}
    made = _made(nodeGroups=fixed)
    (flavor,) = [one.inputs["metadata"] for one in made.all("ResourceFlavor") if "topologyName" in one.inputs["spec"]]
    assert flavor["annotations"]["pulumi.com/patchForce"] == "true"
    (container,) = made.one("Deployment", quota_return.ACCOUNT).inputs["spec"]["template"]["spec"]["containers"]
    env = {each["name"]: each.get("value") for each in container["env"]}
    (cohort,) = [one.inputs for one in made.all("Cohort")]
    assert (env["FLAVORS"], env["COHORT"]) == (flavor["name"], cohort["metadata"]["name"])
    # It shares nothing: it only has the stack's queues look at their jobs again.
    queue = made.all("ClusterQueue")[0].inputs["spec"]
    assert cohort["spec"] == {"parentName": queue["cohortName"]}
    (role,) = [one.inputs for one in made.all("ClusterRole") if one.name.endswith(quota_return.ACCOUNT)]
    assert {rule["resources"][0]: (rule["verbs"], rule.get("resourceNames")) for rule in role["rules"]} == {
        "nodes": (["list"], None),
        "resourceflavors": (["get", "patch"], [flavor["name"]]),
        "cohorts": (["get", "patch"], [cohort["metadata"]["name"]]),
    }


def test_where_groups_scale_every_flavor_takes_part() -> None:
    made = _made()
    (container,) = made.one("Deployment", quota_return.ACCOUNT).inputs["spec"]["template"]["spec"]["containers"]
    assert {each["name"] for each in container["env"]}.isdisjoint({"FLAVORS", "COHORT"})
    assert made.all("Cohort") == []
    assert [one.name for one in made.all("ClusterRole") if one.name.endswith(quota_return.ACCOUNT)] == []
