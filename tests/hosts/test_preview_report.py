"""The report of a preview: its Markdown as recorded, its table, and the whole command through the real engine."""

from __future__ import annotations

import io
import os
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from tensorplane.cli.commands.preview import property_path, render
from tensorplane.cli.commands.preview.engine import Preview
from tensorplane.cli.commands.preview.events import report
from tensorplane.cli.commands.preview.report import Change, Property, Report
from tensorplane.cli.commands.preview.sections import node_groups
from tensorplane.core.errors import UserError
from tensorplane.driver.stack_settings import StackSettings
from tensorplane.driver.update import run_effects
from tensorplane.driver.update.engine_events import list_job_steps
from tests.hosts import preview_events as events
from tests.hosts.engine import Engine
from tests.support.run_events import events as run_events
from tests.support.run_events import planned

BEFORE = planned()
RUN = run_events(BEFORE, planned(BEFORE, strategy={"kind": "multiWorkerMirrored", "workers": 4}))
GOLDEN = Path(__file__).parent / "golden"
CASES = {
    "changes": report("dev", [*events.CHANGES, *events.KEPT]),
    "violated": report("dev", [*events.CHANGES[:5], *events.VIOLATED], failed=True),
    "faults": report("dev", events.FAULTS, failed=True),
    "stood-in": report(
        "prod", [*events.CHANGES[:4], *events.CLOUD], stand_ins={"aws": "there are no credentials", "gcp": "unused"}
    ),
    "fleet": report("prod", [*events.FLEET, *events.KEPT]),
    "queues": report("dev", [*events.QUEUES, *events.KEPT]),
    "cost": replace(report("prod", [*events.COST, *events.KEPT]), durations={"search": 5400}),
    "runs": Report("dev", runs=run_effects.effect_lines(list_job_steps(RUN), None)),
    "nothing": report("dev", [*events.CHANGES[:4], *events.KEPT]),
}


@pytest.mark.parametrize("name", CASES)
def test_the_markdown_is_as_recorded(name: str) -> None:
    recorded, rendered = GOLDEN / f"{name}.md", render.markdown(CASES[name])
    if os.environ.get("UPDATE_GOLDEN"):
        recorded.write_text(rendered)
    assert rendered == recorded.read_text()


def test_no_report_shows_a_secret() -> None:
    output = io.StringIO()
    Console(file=output, width=200).print(render.terminal(CASES["changes"], 200))
    for text in (render.markdown(CASES["changes"]), output.getvalue()):
        assert "plain" not in text
        assert "ciphertext" not in text
        assert "[secret]" in text


def test_the_table_ends_with_faults_and_verdicts() -> None:
    output = io.StringIO()
    Console(file=output, width=200).print(render.terminal(CASES["violated"], 200))
    assert output.getvalue().splitlines()[-1].startswith("policy gpu-quota (mandatory): The workloads request 4 GPUs")


def test_what_a_newer_version_deployed_is_not_read() -> None:
    cluster = events.step("same", "tensorplane:index:Cluster", "cluster", {"kind": "gke", "factsVersion": 2.0}, {})
    (said, found) = (report("prod", [cluster, *events.FLEET]), report("prod", events.FLEET))
    assert said.warnings == (
        "a newer tensorplane deployed this stack: its facts have version 2, and this one reads 1; use the version that "
        "deployed it, or a newer one. This report shows what would be, not what is deployed",
    )
    groups = said.registered("NodeGroup")
    assert {name: new for name, (_, new) in groups.items()} == {
        name: new for name, (_, new) in found.registered("NodeGroup").items()
    }
    assert all(old == {} for old, _ in groups.values())


def test_many_of_a_type_that_come_as_a_whole_share_a_row() -> None:
    tags = [Change("create", "aws:autoscaling/tag:Tag", f"tag-{index}") for index in range(4)]
    changed = [Change("update", "Queue", f"queue-{index}", (Property("gpus", "1", "2", False),)) for index in range(4)]
    made = Report("prod", changes=(*tags, *changed, Change("create", "Namespace", "team")))
    text = render.markdown(made)
    assert "| create | 4 aws:autoscaling/tag:Tag **tag-0, tag-1, tag-2, tag-3** |  |" in text
    assert "| update | 4 Queue **queue-0, queue-1, queue-2, queue-3** | `gpus`: `1` → `2` |" in text
    output = io.StringIO()
    Console(file=output, width=200).print(render.terminal(made, 200))
    assert "4 aws:autoscaling/tag:Tag: tag-0, tag-1, tag-2, tag-3" in output.getvalue()
    assert "Namespace team" in output.getvalue()


def test_the_fleet_tells_what_becomes_of_each_group() -> None:
    said = {group.name: " ".join(group.cells) for group in node_groups.groups(CASES["fleet"])}
    assert said["old"] == "old g4dn.xlarge → g6.xlarge 1 t4 → 1 l4 time-slicing-4 → - 0-20 20 - → 16.10"
    assert said["tpu"] == "tpu ct5lp-hightpu-4t 4 tpu-v5e - 1 4 4.80"
    assert said["gone"].startswith("gone (deleted) g4dn.xlarge 1 t4")
    assert {group.name: group.taints for group in node_groups.groups(CASES["fleet"])}["old"] == (
        "nvidia.com/gpu=present:NoSchedule",
        "a=b:NoExecute → c:NoExecute",
    )


def test_a_total_that_lacks_a_price_says_whose() -> None:
    groups = node_groups.groups(CASES["fleet"])
    assert node_groups.without_price(groups) == (
        "The total excludes more (spot): the price is unknown (docs/catalog.md)."
    )
    priced = tuple(group for group in groups if group.name != "more")
    assert node_groups.without_price(priced) == ""
    assert node_groups.without_price(tuple(group for group in groups if group.name in ("cpu", "more"))) == ""
    assert node_groups.prices(groups).endswith(node_groups.without_price(groups))


@pytest.mark.parametrize("width", [80, 120, 200])
def test_no_cell_of_the_fleet_is_broken_where_the_terminal_has_room(width: int) -> None:
    output = io.StringIO()
    found = report("prod", [event for event in events.FLEET if "create" in str(event) or "same" in str(event)])
    Console(file=output, width=width).print(render.terminal(found, width))
    line = next(line for line in output.getvalue().splitlines() if line.startswith("tpu"))
    assert line.split()[:7] == ["tpu", "ct5lp-hightpu-4t", "4", "tpu-v5e", "-", "1", "4"]
    assert ("google.com/tpu=present:NoSchedule" in line) == (width > 80)
    assert "> " not in output.getvalue(), "every price is known"


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("a.b", 1),
        ('a["x.y/z"]', 2),
        ("list[1].c", 3),
        ("list[7].c", property_path.ABSENT),
        ("a.b.c", property_path.ABSENT),
        ("secret.inside", events.SECRET),
    ],
)
def test_paths_lead_to_values(path: str, value: object) -> None:
    tree = {"a": {"b": 1, "x.y/z": 2}, "list": [{}, {"c": 3}], "secret": events.SECRET}
    assert property_path.find(tree, path) == value


def test_a_preview_that_asked_no_cloud_says_so_first() -> None:
    output = io.StringIO()
    Console(file=output, width=200).print(render.terminal(CASES["stood-in"], 200))
    lines = output.getvalue().splitlines()
    assert lines[0] == "Checked against the SDK's types, not by the cloud (aws: there are no credentials)."
    assert "prod (not checked by the cloud): 1 to create, 1 unchanged" in lines, (
        "a long preview's first lines scroll away"
    )


def test_long_values_are_cut() -> None:
    assert len(property_path.text("x" * 1000)) == 60


PROGRAM = """
    import pulumi

    class TrainingJob(pulumi.ComponentResource):
        def __init__(self, name, gpus, token):
            super().__init__("tensorplane:index:TrainingJob", name, {"gpus": gpus, "token": token})
            self.register_outputs({"gpus": gpus})

    config = pulumi.Config()
    TrainingJob("digits", config.require_int("gpus"), pulumi.Output.secret("s3cret"))
"""


@pytest.fixture
def preview(engine: Engine, tmp_path: Path) -> Preview:
    """A project whose stack does not exist yet, with a pack-less quota file of its own."""
    project = engine.project(tmp_path / "tiny", PROGRAM)
    (project.folder / "Pulumi.dev.yaml").write_text("config:\n  tiny:gpus: 2 # a comment\n")
    settings = StackSettings("dev", tmp_path / "home", project.folder)
    environment = {name: value for name, value in project.environment.items() if name.startswith(("PULUMI_", "PATH"))}
    return Preview(settings, engine.programs / "pulumi", environment)


def test_the_real_preview_makes_the_stack_and_leaves_the_checkout_alone(preview: Preview) -> None:
    """By default, no GPU is allowed; the program asks for two."""
    before = (preview.settings.project / "Pulumi.dev.yaml").read_text()
    found = preview.run()
    assert found.failed
    assert [(change.operation, change.type, change.name) for change in found.changes] == [
        ("create", "TrainingJob", "digits")
    ]
    (verdict,) = [verdict for verdict in found.policy_results if verdict.messages]
    assert verdict.level == "mandatory"
    assert verdict.messages[0].startswith("The workloads request 2 GPUs; the quota is 0. digits (TrainingJob): 2.")
    assert "s3cret" not in render.markdown(found)
    assert (preview.settings.project / "Pulumi.dev.yaml").read_text() == before
    assert "encryptionsalt" in preview.settings.file.read_text()


@pytest.mark.nightly("an engine run; test_faults.py tells it")
def test_the_programs_own_faults_are_shown_as_they_are(preview: Preview) -> None:
    program = "import pulumi\nraise pulumi.RunError('queues.a: unknown\\nqueues.b: unknown')"
    (preview.settings.project / "__main__.py").write_text(program)
    found = preview.run()
    assert found.failed
    assert found.errors == ("queues.a: unknown", "queues.b: unknown")
    assert found.policy_results == ()


@pytest.mark.nightly("an engine run for a rare fault")
def test_a_fault_before_the_engine_runs_is_shown(preview: Preview) -> None:
    settings = preview.settings.project / "Pulumi.yaml"
    settings.write_text(settings.read_text().replace("virtualenv: ", "virtualenv: missing"))
    (fault,) = preview.run().errors
    assert "runtime.options.virtualenv: " in fault
    assert "is not a virtual environment" in fault


def test_an_unknown_stack_is_named_with_those_there_are(preview: Preview) -> None:
    other = Preview(StackSettings("prod", preview.settings.home, preview.settings.project), preview.pulumi, {})
    with pytest.raises(UserError, match=r"stack prod: Pulumi\.prod\.yaml does not exist; choose one of dev"):
        other.run()
