"""`make catalog`: what it shows, and its one line for a filter that it does not know."""

import io
import json
from typing import Any

import pytest
from rich.console import Console

from tensorplane.cli import __main__ as commands
from tensorplane.cli.commands.catalog import command as catalog_command
from tensorplane.cli.commands.catalog.command import CatalogFilters
from tensorplane.components import catalog
from tensorplane.core.errors import UserError

CLOUDS = ", ".join(catalog.clouds())
WITHDRAWN = ", ".join(catalog.WITHDRAWN)


def shown(question: CatalogFilters, width: int = 160) -> list[str]:
    console = Console(file=io.StringIO(), width=width, highlight=False)
    catalog_command.run(question, False, console)
    return console.file.getvalue().splitlines()  # type: ignore[attr-defined, no-any-return]


def in_json(question: CatalogFilters, capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    catalog_command.run(question, True, Console(file=io.StringIO()))
    found: list[dict[str, Any]] = json.loads(capsys.readouterr().out)
    return found


def test_wide_has_a_line_per_accelerator_and_a_column_per_cloud() -> None:
    lines = shown(CatalogFilters(), width=320)
    clouds = list(catalog.clouds())
    assert lines[0].split()[-len(clouds) :] == clouds
    (t4,) = [line for line in lines if line.startswith("t4 ")]
    assert t4.split()[:11] == ["t4", "gpu", "turing", "2018", "16", "7.5", "-", "-", "yes", "yes", "yes"]
    for machine in ("g4dn.xlarge @1,4 0.526/0.189", "n1-standard-4 @1,2,4", "Standard_NC4as_T4_v3 @1,4"):
        assert machine in t4


@pytest.mark.parametrize("width", [100, 160])
def test_no_name_is_cut(width: int) -> None:
    text = "".join("".join(line.split()) for line in shown(CatalogFilters(), width))
    assert "…" not in text
    assert "Standard_NC24ads_A100_v4" in text and "rtx-pro-6000" in text


def test_narrow_has_the_machines_in_a_table_below() -> None:
    lines = shown(CatalogFilters(), width=100)
    assert all(len(line) <= 100 for line in lines)
    assert any(line.split()[-5:] == ["eks", "p4d.24xlarge", "8", "21.96", "7.25"] for line in lines)


def test_one_accelerator_comes_with_every_machine() -> None:
    lines = shown(CatalogFilters(accelerator="h100-80gb"), width=100)
    machines = {line.split()[1] for line in lines if line.startswith(("eks", "gke", "aks"))}
    assert {"p5.4xlarge", "p5.48xlarge", "a3-megagpu-8g", "Standard_ND96isr_H100_v5"} <= machines


def test_filters(capsys: pytest.CaptureFixture[str]) -> None:
    rows = in_json(CatalogFilters(cloud="eks", min_memory=80, kind="gpu"), capsys)
    names = {row["name"] for row in rows}
    assert {"a100-80gb", "h200"} <= names
    too_small, elsewhere, no_gpu = "a100-40gb", "h100-nvl", "tpu-v5p"
    assert not {too_small, elsewhere, no_gpu} & names
    assert all(row["kind"] == "gpu" and row["memory_gib"] >= 80 for row in rows)
    assert {machine["cloud"] for row in rows for machine in row["machines"]} == {"eks"}
    assert {row["kind"] for row in in_json(CatalogFilters(kind="tpu"), capsys)} == {"tpu"}


def test_a_region_leaves_out_what_it_does_not_sell(capsys: pytest.CaptureFixture[str]) -> None:
    rows = {row["name"]: row["machines"] for row in in_json(CatalogFilters(region="europe-west3"), capsys)}
    assert "a100-40gb" not in rows and "t4" in rows
    prices = [machine["price"] for machines in rows.values() for machine in machines if machine["price"]]
    assert prices and all(price["region"] == "europe-west3" for price in prices)


def test_without_a_region_the_price_is_the_lowest(capsys: pytest.CaptureFixture[str]) -> None:
    (row,) = in_json(CatalogFilters(cloud="eks", accelerator="v100-32gb"), capsys)
    (machine,) = row["machines"]
    assert machine["price"]["on_demand"] == pytest.approx(31.212)


def test_machines_without_accelerators_come_by_family(capsys: pytest.CaptureFixture[str]) -> None:
    lines = shown(CatalogFilters(kind="cpu", cloud="eks"), width=100)
    assert any(line.split()[:3] == ["eks", "m8g", "arm64"] for line in lines)
    families = in_json(CatalogFilters(kind="cpu", cloud="aks", region="eastus", min_memory=500), capsys)
    assert all(machine["memory_gib"] >= 500 for family in families for machine in family["machines"])


def test_what_is_gone_names_what_to_use() -> None:
    lines = shown(CatalogFilters(withdrawn=True))
    assert any(line.split()[:2] == ["p2.xlarge", "g4dn.xlarge"] for line in lines)
    assert len(shown(CatalogFilters(withdrawn=True, accelerator="k80"))) == 2


def test_nothing_fits() -> None:
    assert shown(CatalogFilters(min_memory=9999)) == ["No match."]
    assert shown(CatalogFilters(kind="cpu", min_memory=99999)) == ["No match."]


@pytest.mark.parametrize(
    ("question", "line"),
    [
        (CatalogFilters(cloud="azure"), f"cloud: unknown 'azure'; choose one of {CLOUDS} (did you mean aks?)"),
        (
            CatalogFilters(accelerator="t4", withdrawn=True),
            f"accelerator: t4 is not withdrawn; choose one of {WITHDRAWN}",
        ),
        (
            CatalogFilters(cloud="eks", region="us-central1"),
            "region: us-central1 is a region of gke, not of eks (did you mean eu-central-1?)",
        ),
        (CatalogFilters(kind="tpus"), "kind: unknown 'tpus'; choose one of gpu, tpu, cpu (did you mean tpu?)"),
        (CatalogFilters(region="us-east1x"), "region: unknown 'us-east1x' (did you mean us-east1?)"),
        (
            CatalogFilters(cloud="eks", region="us-west2"),
            "region: us-west2 is a region of gke, not of eks (did you mean us-west-2?)",
        ),
    ],
)
def test_an_unknown_filter_is_one_line_with_the_nearest(question: CatalogFilters, line: str) -> None:
    with pytest.raises(UserError) as caught:
        catalog_command.check(question)
    assert caught.value.lines == (line,)


@pytest.mark.parametrize(
    ("typed", "near"),
    [
        ("H100", " (did you mean h100-80gb, h100-nvl?)"),
        ("a10o-80gb", " (did you mean a100-80gb?)"),
        ("mi300x", " (did you mean b300?)"),
        ("quantum", ""),
    ],
)
def test_an_unknown_accelerator_is_one_line_with_all_names_and_the_nearest(
    monkeypatch: pytest.MonkeyPatch, typed: str, near: str
) -> None:
    some = {name: catalog.ACCELERATORS[name] for name in ("t4", "a100-80gb", "h100-80gb", "h100-nvl", "b300")}
    monkeypatch.setattr(catalog, "ACCELERATORS", some)
    with pytest.raises(UserError) as caught:
        catalog_command.check(CatalogFilters(accelerator=typed))
    listed = "t4, a100-80gb, h100-80gb, h100-nvl, b300"
    assert caught.value.lines == (f"accelerator: unknown '{typed}'; choose one of {listed}{near}",)


@pytest.mark.parametrize("spelt", ["k80", "K80"])
def test_a_withdrawn_accelerator_is_one_line_with_its_successor(spelt: str) -> None:
    with pytest.raises(UserError, match=r"^accelerator: k80 is withdrawn .*; use t4$"):
        catalog_command.check(CatalogFilters(accelerator=spelt))


@pytest.mark.parametrize("text", ["40G", "-4", "nan", "inf"])
def test_a_memory_that_is_no_number_is_one_line(text: str) -> None:
    with pytest.raises(UserError, match=f"^min-memory: '{text}' is not a number; set GiB, such as 40$"):
        catalog_command.gibibytes(text)


def test_the_command_takes_unset_variables_of_make(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    filters = ["--cloud", "", "--accelerator", "t4", "--kind", "", "--region", "", "--min-memory", "0"]
    monkeypatch.setattr("sys.argv", ["cli", "catalog", *filters])
    assert commands.main() == 0
    assert "g4dn.xlarge" in capsys.readouterr().out
    monkeypatch.setattr("sys.argv", ["cli", "catalog", "--cloud", "azure"])
    assert commands.main() == 1
    assert capsys.readouterr().err == f"cloud: unknown 'azure'; choose one of {CLOUDS} (did you mean aks?)\n"
