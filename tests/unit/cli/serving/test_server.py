"""Which model servers a person may ask, and what is said of wrong names."""

from __future__ import annotations

import json
import re

import pytest

from tensorplane.agents.rollout.state import RolloutState
from tensorplane.cli.serving import server
from tensorplane.cli.serving.rollout import Rollout
from tensorplane.core.errors import UserError
from tests.support.served import NAMESPACE, Api, access


def test_models_and_labels_are_those_that_the_servers_read() -> None:
    vision, ranker = reversed(server.servers(access(Api())))
    assert vision.models == {"half": {"canary": 3, "stable": 2}, "other": {}}
    assert (vision.ready, vision.replicas) == (1, 2)
    assert ranker.models == {"ranker": {}}, "a server of another API has its first model in a variable"


@pytest.mark.parametrize(
    ("target", "told"),
    [
        ("visio", "visio: stack dev has no such model server; it has ranker-server, vision (did you mean vision?)"),
        ("vision/halff", "vision/halff: vision serves no such model; it has half, other (did you mean half?)"),
        ("vision", "vision: serves several models; choose one of vision/half, vision/other"),
    ],
)
def test_a_wrong_name_is_one_line_with_what_there_is(target: str, told: str) -> None:
    with pytest.raises(UserError, match=rf"^{re.escape(told)}$"):
        server.one(access(Api()), target)


def test_members_of_a_team_ask_the_servers_to_which_they_publish() -> None:
    tree = {
        "namespace": NAMESPACE,
        "workloads": {"digits-server": {"model": {"volume": "models", "path": "a/digits", "labels": {"stable": 2}}}},
    }
    data = {"settings": json.dumps(tree), "stack": "dev", "team": "vision"}
    objects = {"/api/v1/namespaces/vision/configmaps/tensorplane-platform": {"data": data}}
    api = Api()
    found, model = server.one(access(api, team="vision", objects=objects), "digits-server")
    assert (found.namespace, model, found.models, found.ready) == (NAMESPACE, "digits", {"digits": {"stable": 2}}, None)
    assert found.ask(model, ":predict", {"instances": [1]}) == {"predictions": [1.0]}
    asked = (f"{NAMESPACE}/digits-server:8501/v1/models/digits:predict", {"instances": [1]})
    assert api.asked == [asked], "through the API server's proxy, the only way that they may take"
    with pytest.raises(UserError, match=r"^other: team vision has no such model server; it has digits-server$"):
        server.one(access(Api(), team="vision", objects=objects), "other")


def test_a_canary_has_its_part_of_the_traffic_and_its_controllers_last_word() -> None:
    kept = RolloutState(stable=3, canary=4).with_decision(1.0, "CanaryStarted", 4, "tried beside version 3")
    assert Rollout(kept, stable=3, canary=1).shares == "3: 75 %, canary 4: 25 %"
    assert Rollout(kept, stable=4, canary=0).shares == "3: 100 %"
    assert Rollout(kept, stable=4, canary=1, weight=5).shares == "3: 95 %, canary 4: 5 %"
    assert Rollout(kept, stable=4, canary=1, weight=0).shares == "3: 100 %, canary 4: 0 %"
    assert Rollout(RolloutState(), stable=0, canary=0).shares == ""
    assert Rollout(kept, stable=3, canary=1).last_decision == "CanaryStarted 4: tried beside version 3"
    assert Rollout(RolloutState(), stable=0, canary=0).last_decision == ""
