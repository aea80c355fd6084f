"""Reports of a stack with 1,000 training jobs: what decides is at the beginning, and equal changes are one line."""

from __future__ import annotations

import copy
import io
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from rich.console import Console

from tensorplane.cli.commands.preview import comparison, render
from tensorplane.cli.commands.preview.engine import Streamed
from tensorplane.cli.commands.preview.head import LIMIT
from tensorplane.cli.commands.preview.report import PolicyResult, Report
from tensorplane.cli.commands.preview.section import SEPARATOR
from tensorplane.driver.update.data_at_risk import Risk
from tests.support import many_workloads
from tests.unit.cli.commands.preview.test_reports import ASKED, BEFORE, COMMIT

MANY = 1000


@pytest.fixture(scope="module")
def before() -> Streamed:
    """A stack with 1,000 jobs."""
    return many_workloads.streamed(BEFORE, "digits", MANY)


@pytest.fixture(scope="module")
def found(before: Streamed) -> Report:
    """Every job gets another image and the node group of half of them is replaced."""
    tree: Any = copy.deepcopy(dict(BEFORE))
    tree["nodeGroups"]["old"]["accelerator"] = "l4"
    tree["queues"]["research"]["gpus"] = {"l4": 8}
    image = f"registry.example/train@sha256:{'1' * 64}"
    after = many_workloads.streamed(tree, "digits", MANY, image=image)
    return comparison.report("prod", COMMIT, before, after, acknowledged=ASKED)


def _head(report: Report) -> str:
    head, _, _ = render.markdown(report).partition(SEPARATOR)
    assert len(head.encode()) <= LIMIT
    return head


def test_a_thousand_equal_changes_are_a_line_with_their_number_and_three_names(found: Report) -> None:
    text = render.markdown(found)
    other = "**image of 1,000 training jobs from another repository**: registry.example/"
    assert f"- {other}" in text
    assert ": **job-0000, job-0001, job-0002 and 997 more**\n" in text
    assert "- 1,000 × new run of job-0000, job-0001, job-0002 and 997 more: image changed" in text  # noqa: RUF001
    job_sets = "| replace | 1,000 jobset.x-k8s.io/v1alpha2:JobSet **job-0000, job-0001, job-0002 and 997 more** | "
    (row,) = (line for line in text.splitlines() if line.startswith(job_sets))
    assert '.containers["main"].image`' in row.partition("<br>")[0], "what tells most is first"
    assert len(text.encode()) < 64_000


def test_so_they_are_on_the_terminal(found: Report) -> None:
    console = Console(file=io.StringIO(), width=200)
    console.print(render.terminal(found, 200))
    assert isinstance(console.file, io.StringIO)
    text = console.file.getvalue()
    assert "image of 1,000 training jobs from another repository: registry.example/" in text
    assert " new run of job-0000, job-0001, job-0002 and 997 more: image changed" in text
    assert len(text.splitlines()) < 400


def test_the_beginning_has_what_is_replaced_and_the_cost(found: Report) -> None:
    head = _head(found)
    assert "**Replaces:** NodeGroup old; " in head
    assert "; 1,000 JobSets job-0000, job-0001, job-0002 and 997 more" in head
    assert "**Cost:** +$5.58 per hour at most ($234.71 → $240.29" in head
    assert "the run of job-0000, job-0001, job-0002 and 997 more" in head


DIFFERENT = [f"volume data-{index} is deleted ({index} GiB requested)" for index in range(MANY)]
EQUAL = [f"volume job-{n:04} is deleted: add `{{deleteVolume: [job-{n:04}]}}`" for n in range(MANY)]
LONG = [f"volume {'x' * 20_000} is deleted"]


@pytest.mark.parametrize(
    ("lost", "says", "message"),
    [
        (
            EQUAL,
            " **volume job-0000, job-0001, job-0002 and 997 more is deleted: add `{deleteVolume: [NAME]}`**",
            "short",
        ),
        (DIFFERENT, "- **volume data-0 is deleted (0 GiB requested)**", "the quota is 60. " + "job-1: 2, " * MANY),
        (LONG, "- **volume xxxx", "short"),
    ],
    ids=["equal", "different", "long"],
)
def test_the_beginning_has_each_reason_of_a_refusal_whatever_their_number(
    found: Report, lost: Sequence[str], says: str, message: str
) -> None:
    verdicts = [PolicyResult(f"rule-{index}", "p 1", "advisory", (f"{index} could be less",)) for index in range(MANY)]
    refused = PolicyResult("gpu-quota", "p 1", "mandatory", (message,))
    risks = tuple(Risk(text, stops_update=True) for text in lost)
    faults = tuple(f"fault {number}" for number in range(MANY))
    head = _head(replace(found, risks=risks, policy_results=(*verdicts, refused), errors=faults))
    assert "**This update is refused: it would lose data.**" in head
    assert "A policy refuses it, too." in head
    assert f"- **gpu-quota** (mandatory): {message[:40]}" in head
    assert says in head
    assert "- fault 0\n" in head
    for part in ("**Interrupts", "**Replaces", "**Cost"):
        assert part in head


def test_what_the_beginning_leaves_out_is_counted_there_and_complete_below(found: Report) -> None:
    text = render.markdown(replace(found, risks=tuple(Risk(line, stops_update=True) for line in DIFFERENT)))
    head, *rest = text.split(SEPARATOR)
    shown = sum(line.startswith("- **volume data-") for line in head.splitlines())
    assert f"- **and {MANY - shown:,} more, below**" in head
    assert all(f"- **{line}**" in "".join(rest) for line in DIFFERENT)


def test_the_beginning_names_each_of_many_policies_however_long_their_messages(found: Report) -> None:
    verdicts = tuple(PolicyResult(f"rule-{n}", "p 1", "mandatory", ("x y " * 900,)) for n in range(12))
    head = _head(
        replace(found, policy_results=verdicts, failed=True, errors=("f " * 5000,), risks=(Risk("r " * 5000),))
    )
    assert [f"- **rule-{n}** (mandatory): x y" in head for n in range(12)] == [True] * 12


def test_a_long_list_is_closed_after_its_first_lines_in_pieces() -> None:
    texts = tuple(f"warning {index} {'x' * 200}" for index in range(MANY))
    text = render.markdown(Report("prod", warnings=texts))
    assert "- 960 more lines: below, or in preview.md in the artifacts of the run" in text
    assert "<summary>960 more: 1 to 56 of 960</summary>" in text
    assert all(part.count("<details>") == part.count("</details>") for part in text.split(SEPARATOR))
    assert all(each in text for each in texts)


def test_what_has_few_like_it_is_open_among_many_that_differ_in_numbers() -> None:
    volumes: Any = {
        f"data-{n:03}": ({"sizeGib": n, "retain": True}, {"sizeGib": n + 1, "retain": True}) for n in range(1, 200)
    }
    volumes["data-150"] = ({"sizeGib": 150, "retain": True}, {"sizeGib": 150, "retain": False})
    text = render.markdown(Report("prod", components={"tensorplane:index:Volume": volumes}))
    first = text.partition("## What changes")[2].strip().splitlines()[0]
    assert first.startswith("- volume **data-150**: retain true → false: ")
