"""docs/pipelines.md builds its example stage by stage: each step is valid, and its tables are as the command prints."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from itertools import groupby

import pytest
from rich.console import Console

from tensorplane.cli.commands.runs import tables
from tensorplane.cli.pipelines.listing import Run, StageRun
from tests.support.documented import Block, blocks
from tests.support.problems import dev, problems_of
from tests.support.rendering import PROJECT, settings_of

PAGE = (PROJECT / "docs" / "pipelines.md").read_text()
EXAMPLE = PROJECT / "examples" / "image-classification.yaml"
BLOCKS = blocks(PAGE[PAGE.index("## An example, stage by stage") : PAGE.index("## Parts")])
STAGES = list(settings_of(EXAMPLE).tree["workloads"]["classify"]["stages"])
_SECONDS = {"s": 1, "min": 60}
_NOW = datetime(2026, 11, 26, tzinfo=UTC)


def _of_tables() -> list[Block]:
    return [block for block in BLOCKS if block.text.startswith("run ")]


def test_the_diffs_are_lines_of_the_example() -> None:
    example = [re.sub(r" +#.*", "", line) for line in EXAMPLE.read_text().splitlines()]
    for block in BLOCKS:
        if block.language == "diff":
            rest = iter(example)
            lines = [line[1:] for line in block.text.splitlines() if not line.endswith("…")]
            assert [line for line in lines if line not in rest] == []


@pytest.mark.parametrize("count", range(1, len(STAGES) + 1), ids=STAGES)
def test_each_step_is_accepted_in_the_dev_stack(count: int) -> None:
    example = settings_of(EXAMPLE).tree
    pipeline = example["workloads"]["classify"]
    pipeline["stages"] = {name: pipeline["stages"][name] for name in STAGES[:count]}
    del pipeline["triggers"]
    if "serve" not in pipeline["stages"]:
        del example["workloads"]["classifier"]
    tree = dev()
    for section in ("volumes", "datasets", "workloads"):
        tree[section] = {**tree.get(section, {}), **example[section]}
    assert problems_of(tree) == []


@pytest.mark.parametrize("number", range(len(_of_tables())))
def test_a_table_is_as_the_command_prints_it(number: int) -> None:
    _, *lines = _of_tables()[number].text.splitlines()
    rows = [re.split(r"  +", line.strip()) for line in lines if ": " not in line]
    (head, *_), created = rows[0], _NOW - timedelta(seconds=_seconds(rows[0].pop()))
    rows[0] = rows[0][1:]
    stages = tuple(_stage(*row) for row in rows)
    run = Run(head, "classify", stages[-1].state, created, None, stages)
    console = Console(width=200)
    with console.capture() as printed:
        console.print(tables.render([run], _NOW))
    shown = [line.rstrip() for line in printed.get().splitlines()]
    assert shown == [line.rstrip() for line in _of_tables()[number].text.splitlines() if ": " not in line]


def test_each_step_has_one_stage_more() -> None:
    shown = [len(block.text.splitlines()) - 1 for block in _of_tables()]
    assert [count for count, _ in groupby(shown)][:5] == [1, 2, 3, 4, 5]


def _stage(name: str, state: str, *values: str) -> StageRun:
    *counts, time = values
    parts, done, skipped, failed, alone = [*map(int, counts), 0][:5]
    left_out = {"sheets": alone}
    return StageRun(
        name, state, parts, done=done, skipped=skipped, failed=failed, left_out=left_out, seconds=_seconds(time)
    )


def _seconds(text: str) -> int:
    number, unit = text.split()
    return int(number) * _SECONDS[unit]
