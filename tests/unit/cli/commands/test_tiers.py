"""Who gets which machines: the tiers of the example as tables and drawings, and what a change of them shows."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from rich.console import Console

from tensorplane.cli.commands.preview.report import Components, Report
from tensorplane.cli.commands.preview.sections import preemption
from tensorplane.cli.commands.preview.sections import queues as queues_section
from tensorplane.cli.commands.tiers import command as tiers
from tensorplane.cli.commands.tiers import drawing, tables
from tensorplane.cli.commands.tiers import rows as tier_rows
from tensorplane.components.node_groups import fleet
from tensorplane.components.node_groups.cluster_properties import ClusterProperties
from tensorplane.components.node_groups.settings import NodeGroupArgs
from tensorplane.components.queues import flavors, quota
from tensorplane.components.queues.manifest import registered as facts_of
from tensorplane.components.queues.settings import QueueArgs
from tensorplane.core.errors import UserError
from tensorplane.core.paths import PROJECT
from tests.support.goldens import GOLDEN

EXAMPLE = yaml.safe_load((PROJECT / "examples/queues.yaml").read_text())["config"]


def registered(
    queues: Mapping[str, Any], groups: Mapping[str, Any] = EXAMPLE["tensorplane:nodeGroups"]
) -> dict[str, Any]:
    """What queues of these settings register."""
    given = {name: NodeGroupArgs.model_validate(each, by_alias=True, by_name=False) for name, each in groups.items()}
    kinds = flavors.of(fleet.of(given, ClusterProperties("embedded", None, None))[0], own_nodes=True)
    made = {name: QueueArgs.model_validate(each, by_alias=True, by_name=False) for name, each in queues.items()}
    return {name: facts_of(args, quota.of(args, kinds), kinds) for name, args in made.items()}


QUEUES = registered(EXAMPLE["tensorplane:queues"])


def printed(width: int, queues: Mapping[str, Any] = QUEUES, before: Mapping[str, Any] | None = None) -> str:
    """What a terminal of this width shows."""
    output = io.StringIO()
    old = before or {}
    shown = tables.render(
        tier_rows.tiers(queues),
        tier_rows.flavors(queues),
        width,
        before=tier_rows.tiers(old),
        had=tier_rows.flavors(old),
    )
    Console(file=output, width=width).print(shown)
    return "".join(f"{line.rstrip()}\n" for line in output.getvalue().splitlines())


@pytest.mark.parametrize("width", [80, 120])
def test_the_example_is_shown_as_recorded(width: int) -> None:
    recorded = GOLDEN / f"tiers-{width}.txt"
    shown = printed(width)
    if os.environ.get("UPDATE_GOLDEN"):
        recorded.write_text(shown)
    assert shown == recorded.read_text()
    assert max(map(len, shown.splitlines())) <= width


def test_a_tier_says_in_which_order_what_is_whose() -> None:
    production, research = tier_rows.tiers(QUEUES)
    assert [(share.flavor, share.guaranteed, share.borrowable) for share in production.in_order] == [
        ("h100-80gb", 8, 0),
        ("a100-80gb", 4, 4),
    ]
    assert production.never == ("cpu", "t4")
    assert [share.flavor for share in research.in_order] == ["cpu", "t4", "a100-80gb", "h100-80gb"]
    assert [share.lenders for share in research.shares] == [(), (), ("production",), ("production",)]


def test_lenders_exclude_queues_without_loans_or_outside_the_cohort() -> None:
    queues = {
        "a": {"gpus": {"t4": 2}, "mayBorrow": {"h100-80gb": 1}},
        "b": {"gpus": {"h100-80gb": 2}, "lends": {"h100-80gb": 0}},
        "c": {"gpus": {"h100-80gb": 2}, "cohort": "none"},
        "d": {"gpus": {"h100-80gb": 2}},
    }
    (share,) = (share for share in tier_rows.tiers(registered(queues))[0].shares if share.flavor == "h100-80gb")
    assert share.lenders == ("d",)


def test_unreserved_capacity_is_listed() -> None:
    kinds = {kind.name: kind for kind in tier_rows.flavors(registered({"a": {"gpus": {"t4": 3}}}))}
    assert (kinds["t4"].capacity, kinds["t4"].guaranteed, kinds["t4"].unreserved) == (8, 3, 5)
    assert kinds["h100-80gb"].unreserved == 8
    assert kinds["cpu"].unreserved is None


def test_machines_outside_the_catalog_count_as_cores_and_gpus() -> None:
    queues = {
        "a": {"cpus": 4, "memoryGib": 8, "gpus": {"any": 2}},
        "b": {"mayBorrow": {"cpu": 4, "any": 1}},
    }
    assert list(tables.tier_rows([], tier_rows.tiers(registered(queues, {})))) == [
        ("a", "normal", "-", "1", "cpu", "4 cores", "0"),
        ("", "", "", "2", "any", "2", "0"),
        ("b", "normal", "-", "1", "cpu", "0", "4 cores from a"),
        ("", "", "", "2", "any", "0", "1 from a"),
    ]


def test_teams_get_what_their_queues_have_together() -> None:
    queues = {
        "a": {"gpus": {"t4": 2}, "mayBorrow": {"t4": 1}, "teams": ["x", "y"]},
        "b": {"gpus": {"t4": 4}, "teams": ["y"]},
    }
    headings, *rows = tables.team_rows(tier_rows.tiers(registered(queues)))
    assert headings == ("team", "cpu", "t4", "a100-80gb", "h100-80gb", "queues")
    assert rows == [("x", "never", "2 + 1", "never", "never", "a"), ("y", "never", "6", "never", "never", "a, b")]


def test_a_team_never_gets_more_than_there_is() -> None:
    groups = {"hopper": {"accelerator": "h100-80gb", "perNode": 8, "max": 4}}
    queues = {
        "research": {"gpus": {"h100-80gb": 8}, "mayBorrow": {"h100-80gb": 24}, "teams": ["vision", "speech"]},
        "production": {"gpus": {"h100-80gb": 24}, "lends": {"h100-80gb": 24}, "teams": ["vision"]},
    }
    shown = {team: row for team, *row in tables.team_rows(tier_rows.tiers(registered(queues, groups)))[1:]}
    assert shown == {"speech": ["never", "8 + 24", "research"], "vision": ["never", "32", "production, research"]}


def test_a_team_borrows_what_others_lend_and_no_more() -> None:
    queues = {
        "a": {"gpus": {"t4": 2}, "mayBorrow": {"t4": 3}, "teams": ["x"]},
        "b": {"mayBorrow": {"t4": 3}, "teams": ["x"]},
        "c": {"gpus": {"t4": 4}, "lends": {"t4": 3}},
        "d": {"gpus": {"t4": 2}, "cohort": "none"},
    }
    (row,) = tables.team_rows(tier_rows.tiers(registered(queues)))[1:]
    assert row[2] == "2 + 3"


def test_of_many_lenders_and_teams_some_are_named() -> None:
    queues = {name: {"gpus": {"t4": 1}} for name in "bcdefg"}
    rows = list(
        tables.tier_rows(
            [], tier_rows.tiers(registered({**queues, "a": {"mayBorrow": {"t4": 1}, "teams": [*"uvwxyz"]}}))
        )
    )
    assert rows[0][2] == "u, v, w, x and 2 more"
    assert rows[0][-1] == "1 from b, c, d, e and 2 more"


def test_a_change_shows_what_was() -> None:
    before = registered({"a": {"gpus": {"t4": 2}, "priority": "high"}, "gone": {"gpus": {"h100-80gb": 1}}})
    after = registered({"a": {"gpus": {"a100-80gb": 2, "t4": 4}}, "new": {"gpus": {"h100-80gb": 1}}})
    rows = list(tables.tier_rows(tier_rows.tiers(before), tier_rows.tiers(after)))
    assert rows == [
        ("a", "high → normal", "-", "1", "t4", "2 → 4", "0"),
        ("", "", "", "never → 2", "a100-80gb", "0 → 2", "0"),
        ("", "", "", "never", "cpu, h100-80gb", "0", "0"),
        ("new", "normal", "-", "1", "h100-80gb", "1", "0"),
        ("", "", "", "never", "cpu, t4, a100-80gb", "0", "0"),
        ("gone (deleted)", "normal", "-", "1", "h100-80gb", "1", "0"),
        ("", "", "", "never", "cpu, t4, a100-80gb", "0", "0"),
    ]
    kinds = list(tables.flavor_rows(tier_rows.flavors(before), tier_rows.flavors(after)))
    assert ("t4", "8", "2 → 4", "6 → 4") in kinds


def test_many_gpus_share_a_block_and_many_kinds_continue_below() -> None:
    groups = {
        card: {"accelerator": card, "perNode": 8, "max": 100} for card in ("t4", "a100-80gb", "h100-80gb", "b200")
    }
    found = tier_rows.tiers(registered({"a": {"gpus": dict.fromkeys(groups, 800)}}, groups))
    drawn = drawing.drawings(found, 60)
    assert [kind for each in drawn for kind in each.flavors] == [share.flavor for share in found[0].shares]
    assert len(drawn) > 1
    assert all(len(line) <= 60 for each in drawn for line in each.lines())
    assert "one block of t4 is 34" in [note for each in drawn for note in each.scale]
    assert drawing.drawings([], 60) == []


def test_a_preview_says_who_may_be_stopped_for_whom_and_what_that_costs() -> None:
    stake = {"borrowed": ["a100-80gb"], "saveSeconds": 20, "graceSeconds": 60, "steps": 200, "pods": 2, "gpus": 8}
    job = {"queue": "research", "mayBeStopped": stake}
    queues = {name: ({"gpus": 4}, state) for name, state in QUEUES.items()}
    components: Components = {
        "tensorplane:index:Queue": queues,
        "tensorplane:index:TrainingJob": {"search": ({}, job), "calm": ({}, {})},
    }
    report = Report("dev", components=components)
    assert queues_section.before(report) == {}, "queues of version 0.1.0 register no machines"
    assert [stake.cells for stake in preemption.stakes(report)] == [
        (
            "search (queue research)",
            "2 pods with 8 GPUs of a100-80gb",
            "production",
            "a checkpoint: 20 s of 60 s grace",
            "the current step; 200 steps if a node fails",
        )
    ]
    assert not list(queues_section.markdown(Report("dev")))


def test_programs_get_every_fact() -> None:
    told = json.loads(json.dumps(tiers.plain(tier_rows.tiers(QUEUES), tier_rows.flavors(QUEUES))))
    assert [queue["name"] for queue in told["queues"]] == ["production", "research"]
    assert told["flavors"][1] == {"name": "t4", "gpus": True, "capacity": 8, "guaranteed": 8, "unreserved": 0}
    assert told["teams"]["vision"]["a100-80gb"] == {"guaranteed": 4, "borrowable": 4}


def test_settings_that_only_pulumi_can_read_are_refused(tmp_path: Path) -> None:
    for stack, command in (("prod", "make preview STACK=prod"), ("dev", "make preview")):
        file = tmp_path / f"Pulumi.{stack}.yaml"
        file.write_text("config: {'tensorplane:queues': {secure: abcd}}")
        with pytest.raises(UserError, match=f"encrypted values; for the table, run: {command}$"):
            tiers.run(file, Console(), as_json=False)
    file.write_text("config: {}")
    with pytest.raises(UserError, match="no queues are declared"):
        tiers.run(file, Console(), as_json=False)
