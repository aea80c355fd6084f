"""Where the program that returns quota runs, and with which rights."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from components.queues import quota_return
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
    assert {verb for one in roles for rule in one["rules"] for verb in rule["verbs"]} == {"list", "patch"}


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
