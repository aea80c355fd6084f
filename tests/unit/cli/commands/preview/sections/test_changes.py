"""The table of changes in terminals of several widths."""

from __future__ import annotations

import io
import re

import pytest
from rich.console import Console

from tensorplane.cli.commands.preview.report import Change, Property, Report
from tensorplane.cli.commands.preview.sections import changes

BINDING = "admissionregistration.k8s.io/v1:ValidatingAdmissionPolicyBinding"
MEMORY = "spec.replicatedJobs[0].template.spec.template.spec.containers[0].resources.limits.memory"
REPORT = Report(
    "dev",
    changes=(
        Change("delete", "core/v1:ConfigMap", "digits-server-models"),
        Change(
            "update",
            "apps/v1:Deployment",
            "digits-server",
            (
                Property("spec.template.spec.containers[0].args[5]", "", '"--max_num_load_retries=0"', replaces=False),
                Property(
                    "spec.template.spec.volumes[2].configMap.name",
                    '"digits-server-models"',
                    '"digits-server-stable-models"',
                    replaces=False,
                ),
            ),
        ),
        Change("update", "jobset.x-k8s.io/v1alpha2:JobSet", "digits", (Property(MEMORY, "1", "2", replaces=False),)),
        Change("create", BINDING, "tensorplane-dev-team-vision-gpu-requests"),
    ),
)


def _lines(width: int) -> list[str]:
    console = Console(file=io.StringIO(), width=width, color_system=None)
    console.print(*changes.terminal(REPORT, width))
    assert isinstance(console.file, io.StringIO)
    return [line.rstrip() for line in console.file.getvalue().splitlines()]


def test_where_columns_do_not_fit_properties_are_below_their_resource() -> None:
    assert _lines(80) == [
        "change  resource",
        "delete  core/v1:ConfigMap digits-server-models",
        "update  apps/v1:Deployment digits-server",
        '          spec.template.spec.containers[0].args[5]: "--max_num_load_retries=0"',
        '          spec.template.spec.volumes[2].configMap.name: "digits-server-models"',
        '            → "digits-server-stable-models"',
        "update  jobset.x-k8s.io/v1alpha2:JobSet digits",
        "          spec.replicatedJobs[0].template.spec.template.spec.containers[0].",
        "            resources.limits.memory: 1 → 2",
        f"create  {BINDING}",
        "        tensorplane-dev-team-vision-gpu-requests",
    ]


def test_a_wide_terminal_has_a_column_of_properties() -> None:
    heading, first, second, *_ = _lines(200)
    assert heading.split() == ["change", "resource", "properties"]
    assert first == "delete  core/v1:ConfigMap digits-server-models"
    assert re.fullmatch(r'update  apps/v1:Deployment digits-server +spec\..*: "--max_num_load_retries=0"', second)


@pytest.mark.parametrize("width", range(40, 240, 10))
def test_names_and_paths_stay_whole_or_break_at_a_joint(width: int) -> None:
    lines = _lines(width)
    assert all(len(line) <= width for line in lines)
    text = "".join(line.strip() for line in lines)
    for part in (part for word in (BINDING, MEMORY) for part in re.split(r"(?<=[./:-])|(?=\[)", word)):
        assert part in text
