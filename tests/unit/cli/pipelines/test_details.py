"""Everything about a run: what its stages were, when they are likely to end, what they have cost, what was skipped."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tensorplane.cli.commands.runs import page_content
from tensorplane.cli.pipelines import details, eta, listing, stage_spec
from tensorplane.cli.pipelines.cost import Prices
from tensorplane.cli.pipelines.details import Details, Stage
from tensorplane.cli.pipelines.eta import Ahead
from tensorplane.cli.pipelines.listing import StageRun
from tensorplane.components.base.labels import STAGE
from tensorplane.components.base.price import Usd
from tensorplane.components.node_groups.fleet import Fleet
from tests.support.pipeline_runs import FIRST, SECOND, Part, Ran, at, prices, workflow


def _details(run: dict[str, Any] = SECOND, seconds: float = 130, known: Prices | None = None) -> Details:
    return details.of(run, [SECOND, FIRST], known or prices(), at(seconds))


def _stage(found: Details, name: str) -> Stage:
    (stage,) = (one for one in found.stages if one.run.stage == name)
    return stage


def test_all_stages_are_there_before_they_begin() -> None:
    states = {one.run.stage: one.run.state for one in _details().stages}
    assert states == {"clean": "finished", "count": "running", "embed": "running", "report": "waiting"}
    assert [one.run.state for one in _details(workflow({})).stages] == ["waiting"] * 4


def test_what_has_not_run_when_the_run_ends_was_omitted() -> None:
    broken = Ran(0, 30, summary={"parts": 1, "new": 1}, parts={0: Part(5, 20, "Failed")}, failure="x")
    ran = {"clean": broken, "count": Ran(30, 30, omitted=True)}
    found = _details(workflow(ran, phase="Failed", end=30))
    assert [one.run.state for one in found.stages] == ["failed", *["omitted"] * 3]
    assert {one.eta_seconds for one in found.stages} == {0}


def test_a_stage_is_described_as_the_run_has_it() -> None:
    embed = stage_spec.of(SECOND, "embed")
    assert embed.after == ("clean",)
    assert embed.image.startswith("registry.example/embed@sha256:")
    assert embed.command == ("python3", "-m", "embed")
    assert (embed.output, embed.is_job, embed.parallel) == ("vectors", False, 4)
    assert embed.inputs["words"] == stage_spec.Input("words", "/in/words", "batch of 100", "8c1f2a7be01d")
    assert stage_spec.of(SECOND, "report").after == ("count", "embed")
    assert stage_spec.of(SECOND, "report").inputs["counts"].commit == ""
    assert stage_spec.of(SECOND, "count").params == {"LEAST": "2"}


def test_a_stage_that_publishes_has_no_program_and_says_where() -> None:
    run = copy.deepcopy(SECOND)
    specs = run["status"]["storedWorkflowTemplateSpec"]["templates"]
    (about,) = (one["metadata"]["annotations"] for one in specs if one["name"] == "report")
    decisive = {"publish": "digits-server", "paths": {"counts": "/data/counts"}}
    about[STAGE] = json.dumps({**json.loads(about[STAGE]), "decisive": decisive})
    found = stage_spec.of(run, "report")
    assert (found.image, found.command, found.publishes_to) == ("", (), "digits-server")
    assert [one.path for one in found.inputs.values()] == ["/data/counts", "/in/vectors"]
    labels = dict(page_content.stage_details(_stage(_details(run), "report"), _details(run), "logs"))
    assert labels["Publishes to"] == "digits-server"
    assert "Image" not in labels


def test_without_the_templates_little_is_known_and_nothing_breaks() -> None:
    young = workflow({"clean": Ran(0, None)}, storedWorkflowTemplateSpec=None)
    (clean,) = _details(young, 10).stages
    assert (clean.run.state, clean.about.image, clean.eta_seconds) == ("running", "", 50)


def test_parts_that_are_done_tell_when_a_stage_ends() -> None:
    # Two of four parts in 55 seconds; `report` took 20 seconds in the last run, and `count` still takes 40.
    found = _details()
    assert _stage(found, "embed").eta_seconds == pytest.approx(55)
    assert _stage(found, "count").eta_seconds == pytest.approx(100 - 60)
    assert _stage(found, "report").eta_seconds == pytest.approx(55 + 20)
    assert found.eta_seconds == pytest.approx(75)


def test_a_stage_that_takes_longer_than_its_last_run_tells_no_end() -> None:
    found = _details(seconds=400)
    assert _stage(found, "count").eta_seconds is None
    assert _stage(found, "report").eta_seconds is None
    assert found.eta_seconds is None


def test_the_last_run_in_which_a_stage_worked_tells_how_long_it_takes() -> None:
    idle = workflow(
        {"count": Ran(0, 2, summary={"parts": 1, "unchanged": 1})}, name="texts-2", phase="Succeeded", end=2
    )
    run, *others = listing.list_runs([SECOND, idle, FIRST], at(130))
    found = eta.last(run, others, "count")
    assert found
    assert found.seconds == 100
    assert eta.last(run, others, "nothing") is None


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["running", "waiting", "finished", "failed", "omitted"]),
            st.none() | st.integers(0, 50),
            st.integers(0, 50),
            st.integers(0, 50),
            st.none() | st.floats(0, 1e5),
        ),
        max_size=6,
    )
)
def test_etas_never_run_backwards_along_the_stages(drawn: list[tuple[str, int | None, int, int, float | None]]) -> None:
    last = StageRun("last", "finished", parts=3, done=3, seconds=100.0)
    stages = {
        str(number): Ahead(
            StageRun(
                str(number), state, parts=parts, done=done, skipped=skipped, working_seconds=seconds, seconds=seconds
            ),
            tuple(str(each) for each in range(number)),
            last=replace(last, stage=str(number)),
        )
        for number, (state, parts, done, skipped, seconds) in enumerate(drawn)
    }
    found = eta.seconds(stages)
    assert all(each is None or each >= 0 for each in found.values())
    open_ones = [name for name in stages if stages[name].stage.state in ("running", "waiting")]
    known = [found[name] for name in open_ones]
    assert known == sorted(known, key=lambda each: float("inf") if each is None else each)


def test_a_stage_costs_its_pods_for_the_time_that_they_ran() -> None:
    found = _details(FIRST)
    machine = prices().fleet.groups["old"].hourly_usd
    assert machine
    # Four pods with the one GPU of a node each, for 285 seconds; Argo counts in whole units.
    usd = _stage(found, "embed").cost.usd
    assert usd
    assert usd.low == pytest.approx(4 * 285 / 3600 * machine, rel=0.01)
    assert found.usd
    assert found.usd.low == pytest.approx(sum(one.cost.usd.low for one in found.stages if one.cost.usd))


def test_pods_that_wait_cost_nothing_and_those_that_run_cost_so_far() -> None:
    def at_rate(phase: str) -> Usd:
        ran = Ran(0, None, summary={"parts": 1, "new": 1}, parts={0: Part(5, None, phase)})
        usd = _stage(_details(workflow({"embed": ran}), 3605), "embed").cost.usd
        assert usd
        return usd

    machine = prices().fleet.groups["old"].hourly_usd
    assert machine
    assert at_rate("Running").low - at_rate("Pending").low == pytest.approx(machine)


@pytest.mark.parametrize(
    ("known", "reason"),
    [
        (Prices(), "the stack declares no node group with prices that its pods run on"),
        (Prices(missing="the settings of stack dev have faults (x)"), "the settings of stack dev have faults (x)"),
        (replace(prices(), fleet=Fleet()), "the stack declares no node group with prices that its pods run on"),
    ],
)
def test_an_unknown_price_is_said_once_with_its_stages(known: Prices, reason: str) -> None:
    found = _details(FIRST, known=known)
    assert found.usd is None
    assert list(found.unpriced) == [(reason, ["clean", "count", "embed", "report"])]


def test_a_job_of_a_stage_costs_what_its_pods_cost() -> None:
    with_job = _details(FIRST, known=replace(prices(), jobs={"report": Usd(2, 3)}))
    without = _details(FIRST)
    assert with_job.usd
    assert without.usd
    assert (with_job.usd.low - without.usd.low, with_job.usd.high - without.usd.high) == pytest.approx((2, 3))
    unknown = _details(FIRST, known=replace(prices(), jobs={"report": None}))
    assert _stage(unknown, "report").cost.missing == "the price of the nodes of its job is unknown"


def test_what_was_skipped_says_why() -> None:
    assert _stage(_details(), "clean").skipped == ["3 of 5 parts: same program, params and input as in an earlier run"]
    ran = Ran(0, 9, summary={"parts": 5, "unchanged": 2, "former": 3}, version="a")
    assert _stage(_details(workflow({"clean": ran})), "clean").skipped == [
        "2 of 5 parts: same program, params and input as in an earlier run",
        "3 of 5 parts: `reprocess: new` keeps their former results",
    ]
    assert _stage(_details(), "count").skipped == []


def test_every_fact_is_json() -> None:
    plain = json.loads(json.dumps(_details().plain()))
    assert plain["eta_seconds"] == pytest.approx(75)
    (clean, *_) = plain["stages"]
    assert (clean["stage"], clean["skipped"], clean["usd"]["low"] > 0) == ("clean", 3, True)
    assert clean["inputs"]["texts"] == {
        "dataset": "raw",
        "path": "/in/texts",
        "split": "file",
        "commit": "8c1f2a7be01d",
    }


def test_pods_of_a_template_ask_for_what_its_containers_ask_for() -> None:
    asked = stage_spec.requests(FIRST, "embed-work")
    assert asked["cpu"] == pytest.approx(2.05)
    assert asked["nvidia.com/gpu"] == 1
    assert stage_spec.requests(FIRST, "other") == {}


def test_a_workflow_that_argo_wrote_is_read_like_that() -> None:
    """Of a run on the embedded cluster, with Argo Workflows 3.7.4; of its templates, only what is read was kept."""
    run = json.loads((Path(__file__).parent / "failed_run.json").read_text())
    found = details.of(run, [run], prices(), datetime(2026, 11, 27, 8, 31, tzinfo=UTC))
    upper, count = found.stages
    assert (upper.run.parts, upper.run.done, upper.run.failed, upper.run.seconds) == (3, 1, 2, 9)
    assert upper.run.why.startswith("upper: 2 of 3 parts failed ('a.txt', 'c.txt'), and mayFail is 0; read their logs")
    assert upper.run.why.endswith("the others are not repeated")
    assert upper.about.inputs["texts"].commit.startswith("68c51ae9")
    assert (count.run, count.about.after) == (StageRun("count", "omitted"), ("upper",))
    assert found.usd
    assert 0 < found.usd.low < 0.0001
