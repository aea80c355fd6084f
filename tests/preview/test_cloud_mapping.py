"""Inputs keep their counterparts in the clouds' models when an SDK or a model is renewed; the page lists all."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from tensorplane.core.paths import PROJECT
from tensorplane.plugins.cloud_models import catalog, check, names
from tensorplane.plugins.cloud_models.coverage import Coverage
from tensorplane.plugins.preview.sdk import Sdk
from tests.preview.cloud_values import STACKS, arguments, declared, pairs, registered

GOLDEN = Path(__file__).parent / "golden" / "cloud-values.yaml"
PAGE = PROJECT / "docs" / "values-checked-offline.md"
_MARK = "<!-- generated: the inputs of every environment and example -->\n\n"
_AGAIN = "out of date: UPDATE_GOLDEN=1 python -m pytest tests/preview/test_cloud_mapping.py"


def _counterparts() -> dict[str, dict[str, str]]:
    """By type of resource and input: the counterpart, and the kinds of its limits."""
    found: dict[str, dict[str, str]] = {}
    for stack in STACKS:
        for token, inputs in declared(stack):
            of_type = found.setdefault(token, {})
            for pair in pairs(token, inputs):
                kinds = " ".join(_kinds(pair.shape.limits)) if pair.shape else ""
                text = f"{pair.member} {kinds}".strip()
                of_type[pair.input] = max(text, of_type.get(pair.input, ""), key=len)
    return {token: dict(sorted(of.items())) for token, of in sorted(found.items()) if of}


def _kinds(limits: Any) -> Iterator[str]:
    yield from ["enumeration"] if limits.allowed else []
    yield from ["pattern"] if limits.pattern else []
    yield from ["length"] if limits.shortest or limits.longest is not None else []
    yield from ["range"] if limits.least is not None or limits.most is not None else []


@functools.cache
def _coverage() -> Mapping[str, Coverage]:
    found: dict[str, Coverage] = {}
    for stack in STACKS:
        for token, inputs in declared(stack):
            one = check.check_inputs(token, inputs, arguments(token)).coverage
            found[token] = found[token].and_of(one) if token in found else one
    return dict(sorted(found.items()))


def test_every_input_has_the_counterpart_that_is_recorded() -> None:
    """What vanishes from a renewed model or SDK shows here, and a reviewer sees whether it is still checked."""
    found = _counterparts()
    if os.environ.get("UPDATE_GOLDEN"):
        GOLDEN.write_text(yaml.safe_dump(found, width=120))
    assert found == yaml.safe_load(GOLDEN.read_text()), _AGAIN


@pytest.mark.parametrize("cloud", catalog.CLOUDS)
def test_the_tables_name_only_what_models_and_sdks_have(cloud: str) -> None:
    table = catalog.table(cloud)
    sdk = {_short(token): token for token in _coverage() if token.startswith(f"{cloud}:")}
    for name, given in table["resources"].items():
        token = sdk.get(name)
        assert token, f"{name}: no stack asks for it; remove the entry"
        assert Sdk(cloud).resource(token)
        calls = given.get("calls")
        entry = catalog.entry(token)
        assert entry
        if calls != []:
            assert [call for call in entry.addresses if entry.part(call) is None] == [], name


def test_only_what_the_tables_say_has_no_counterpart() -> None:
    """An input that no rule finds is either an exception of the table or a gap, never overlooked."""
    overlooked = []
    for token, coverage in _coverage().items():
        entry = catalog.entry(token)
        listed = {name for name, member in entry.names.items() if not member} if entry else set()
        overlooked += [f"{token} {name}" for name in sorted(coverage.absent - listed)]
    assert overlooked == []


def test_every_exception_of_the_tables_is_in_use() -> None:
    used: dict[str, set[str]] = {}
    for stack in STACKS:
        for token, inputs in registered(stack):
            within = (outer for pair in pairs(token, inputs) for outer in _outer(pair.input))
            used.setdefault(_short(token), {"name"}).update(within)
    listed = [
        (name, path)
        for cloud in catalog.CLOUDS
        for name, given in catalog.table(cloud)["resources"].items()
        for path in given.get("inputs", {})
    ]
    assert [f"{name} {path}" for name, path in listed if path not in used[name]] == []


def _short(token: str) -> str:
    """`eks.NodeGroup` of `aws:eks/nodeGroup:NodeGroup`."""
    return f"{token.split(':')[1].partition('/')[0]}.{token.rpartition(':')[2]}"


def _outer(path: str) -> Iterator[str]:
    words = path.split(".")
    yield from (".".join(words[: count + 1]) for count in range(len(words)))


@pytest.mark.parametrize(
    ("name", "members", "found"),
    [
        ("scalingConfig", ("scalingConfig",), "scalingConfig"),
        ("fileSystemId", ("FileSystemId",), "FileSystemId"),
        ("nodeRoleArn", ("nodeRole",), "nodeRole"),
        ("subnetIds", ("subnets",), "subnets"),
        ("policies", ("policy",), "policy"),
        ("addresses", ("address",), "address"),
        ("taint", ("taints",), "taints"),
        ("name", ("RoleName", "Path"), "RoleName"),
        ("name", ("name", "RoleName"), "name"),
        ("id", ("ids",), "ids"),
        ("arn", ("arm", "s", ""), None),
        ("version", ("releaseVersion",), None),
    ],
)
def test_names_are_found_by_rules(name: str, members: tuple[str, ...], found: str | None) -> None:
    from tensorplane.plugins.cloud_models.shape import Parameters

    shape = Parameters({member: Parameters() for member in members})
    member = names.member(name, shape, "Role")
    assert (member[0] if member else None) == found


def test_the_page_lists_what_is_checked_and_what_is_not() -> None:
    rows = [_row(each) for each in _coverage().values() if each.limited or each.unchecked]
    wanted = "\n".join(["| resource | checked | not checked |", "|---|---|---|", *rows, ""])
    written = PAGE.read_text()
    introduction, marked, table = written.partition(_MARK)
    assert marked
    if os.environ.get("UPDATE_GOLDEN"):
        PAGE.write_text(introduction + _MARK + wanted)
        table = wanted
    assert table == wanted, _AGAIN


def _row(coverage: Coverage) -> str:
    cells = (", ".join(f"`{name}`" for name in sorted(inputs)) for inputs in (coverage.limited, coverage.unchecked))
    return f"| {coverage.token} | {' | '.join(cells)} |"
