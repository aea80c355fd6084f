"""How values are written in a stack's file: each spelling is read, and a wrong one is one line with the file's text."""

from __future__ import annotations

import copy
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.mutants import fresh, oracle, text
from tests.mutants.places import At, Tree, each_value, put, rename, value_at
from tests.mutants.text import Typed
from tests.support import counts
from tests.support.rendering import PROJECT, settings_of
from tests.unit.cli.commands.check.test_check import _problems

EACH = counts.of(quick=4, nightly=200)
NO_NUMBERS = ("2026-01-02", ".inf", "-.INF", ".nan", "18446744073709551616", "22:00")
ODD = (*NO_NUMBERS, "1.30", "007", "True", "null", "0x1F", "1_000")
"""What people do not quote."""
_CANARY = """\
config:
  cluster: {kind: existing, context: team-cluster}
  volumes: {models: {sizeGib: 1, backend: {kind: nfs, server: 10.0.0.1, folder: /models}}}
  workloads:
    server: {kind: modelServer, replicas: 2, model: {volume: models, path: digits, canary: {gate: GATE}}}
"""


def _lines(tree: Tree, folder: Path) -> list[str]:
    file = folder / "Pulumi.dev.yaml"
    file.write_text(text.of(tree))
    return _problems(file)


@pytest.mark.parametrize(
    ("metric", "written"),
    [
        ("errorRate", "0.10"),
        ("errorRate", "0.050"),
        ("errorRate", "5e-2"),
        ("latencyP99Millis", "5e2"),
        ("latencyP99Millis", "500.0"),
        ("latencyP99Millis", "1_000"),
    ],
)
def test_one_gate_alone_is_a_list_of_it_however_its_numbers_are_written(
    metric: str, written: str, tmp_path: Path
) -> None:
    file = tmp_path / "Pulumi.dev.yaml"
    gate = f"{{metric: {metric}, threshold: {written}, minRequests: 1_0}}"
    for value in (gate, f"[{gate}]"):
        file.write_text(_CANARY.replace("GATE", value))
        assert _problems(file) == []


def test_a_fault_of_one_gate_alone_is_at_its_key(tmp_path: Path) -> None:
    file = tmp_path / "Pulumi.dev.yaml"
    file.write_text(_CANARY.replace("GATE", "{metric: errorRate, treshold: 0.10, minRequests: 1.50}"))
    at = "tensorplane:workloads.server.model.canary.gate"
    first, second = sorted(_problems(file))
    assert first == f"{at}.minRequests: invalid value 1.50; use a whole number"
    assert second.startswith(f"{at}.treshold: unknown setting; ")
    assert second.endswith("(did you mean threshold?)")


def test_faults_in_a_list_are_at_the_item_and_without_it_at_the_setting(tmp_path: Path) -> None:
    tree = copy.deepcopy(settings_of(PROJECT / "Pulumi.dev.yaml").tree)
    at = "tensorplane:workloads.digits.egress"
    for value, key in (("0.example", "cidr"), (["internet", "0.example"], "1.cidr")):
        put(tree, ("workloads", "digits", "egress"), value)
        (line,) = _lines(tree, tmp_path)
        assert line.startswith(f"{at}.{key}: invalid value '0.example'; use addresses as a CIDR")
    put(tree, ("workloads", "digits", "egress"), [{"cdir": "10.0.0.0/8"}])
    (line,) = _lines(tree, tmp_path)
    assert line.startswith(f"{at}.0.cdir: unknown setting; ")
    assert line.endswith(" (did you mean cidr?)")


def _respelt(tree: Tree, made: Any) -> Tree:
    """Every number in another spelling, and every list of one map without its list."""
    changed = copy.deepcopy(tree)
    for at, value in list(each_value(tree)):
        if isinstance(value, int | float) and not isinstance(value, bool):
            put(changed, at, Typed(made(value)))
    for at, value in sorted(each_value(changed), key=lambda place: -len(place[0])):
        if isinstance(value, list) and len(value) == 1 and isinstance(value[0], dict):
            put(changed, at, value[0])
    return changed


@pytest.mark.parametrize("base", fresh.BASES, ids=lambda base: base.stem)
def test_numbers_of_every_stack_can_be_written_in_other_ways(base: Path, tmp_path: Path) -> None:
    for made in ("{:.6f}", "{:e}", "+{}", "00_{}"):
        lines = _lines(_respelt(settings_of(base).tree, made.format), tmp_path)
        assert all(map(oracle._is_readable, lines)), lines


def _misspelt(base: Path, seed: int) -> Iterator[tuple[At, str, Tree]]:
    """A stack with one value that is not quoted."""
    tree, chance = settings_of(base).tree, random.Random(f"{base.stem}:{seed}")
    found = [at for at, value in each_value(tree) if not isinstance(value, dict | list) and at != ("platform",)]
    for _ in range(EACH):
        at = chance.choice(found)
        # In place of a number, another one may be right.
        written = chance.choice(NO_NUMBERS if isinstance(value_at(tree, at), int | float) else ODD)
        changed = copy.deepcopy(tree)
        put(changed, at, Typed(written))
        yield at, written, changed


@pytest.mark.counted
def test_a_value_that_is_not_quoted_is_one_line_with_the_text_of_the_file(tmp_path: Path) -> None:
    refused, wrong = 0, []
    for base in fresh.BASES:
        for at, written, tree in _misspelt(base, counts.seed()):
            lines = _lines(tree, tmp_path)
            refused += bool(lines)
            about = [line for line in lines if line.startswith(f"tensorplane:{'.'.join(map(str, at))}: ")]
            shown = re.search(r"invalid value ('[^']*'|\S+);", about[0]) if about else None
            if len(lines) > 1 or (shown and shown[1].strip("'") not in (written, "(empty)", "")):
                wrong.append(f"{base.name} {at} {written}: {lines}")
    assert refused > EACH * len(fresh.BASES) / 3
    assert wrong == []


@pytest.mark.parametrize(
    ("written", "shown"),
    [("null", "(empty)"), ("True", "True"), ("1.30", "1.30"), ("007", "007"), ("2026-01-02", "'2026-01-02'")],
)
def test_a_kind_that_is_no_text_is_shown_as_it_is_written(written: str, shown: str, tmp_path: Path) -> None:
    tree = copy.deepcopy(settings_of(PROJECT / "Pulumi.dev.yaml").tree)
    put(tree, ("workloads", "digits", "strategy", "kind"), Typed(written))
    (line,) = _lines(tree, tmp_path)
    assert line == (
        f"tensorplane:workloads.digits.strategy.kind: invalid value {shown}; "
        "use mirrored, multiWorkerMirrored, parameterServer, single or tpu"
    )


@pytest.mark.parametrize("stack", ["Pulumi.dev.yaml", "Pulumi.prod.yaml", "examples/gke-tpu.yaml"])
def test_a_prefix_with_a_dot_is_one_line(stack: str, tmp_path: Path) -> None:
    tree = copy.deepcopy(settings_of(PROJECT / stack).tree)
    for section in list(tree):
        changed = copy.deepcopy(tree)
        rename(changed, (section,), f"tensorplane.{section}")
        (line,) = _lines(changed, tmp_path)
        assert line.startswith(f"tensorplane:tensorplane.{section}: unknown setting; ")
        assert line.endswith(f" (did you mean {section}?)")
