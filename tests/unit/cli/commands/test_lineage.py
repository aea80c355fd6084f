"""`tensorplane lineage`: versions are followed backwards over datasets and models; folders stand for volumes."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from tensorplane import provenance, stack
from tensorplane.cli.commands.data import remote
from tensorplane.cli.commands.lineage import command as lineage
from tensorplane.cli.commands.lineage import graph, openlineage, picture, text, version_paths
from tensorplane.cli.commands.lineage.command import OutputFormat
from tensorplane.cli.commands.lineage.graph import Graph, Node
from tensorplane.components.base.settings import Settings
from tensorplane.core.errors import UserError
from tensorplane.datasets import Dataset, Note
from tensorplane.stack import ResolvedStack
from tests.support import counts

_JOB = {
    "kind": "trainingJob",
    "strategy": {"kind": "single"},
    "script": "examples/digits/train.py",
    "volumes": {"data": "/data", "models": "/models"},
    "model": {"volume": "models", "path": "digits"},
}
_SETTINGS: dict[str, Any] = {
    "volumes": {"data": {"sizeGib": 1}, "models": {"sizeGib": 1}},
    "datasets": {"raw": {"volume": "data"}, "clean": {"volume": "data", "path": "kept/clean"}},
    "workloads": {
        "digits": _JOB,
        "digits-server": {"kind": "modelServer", "model": {"volume": "models", "path": "served"}},
    },
}


class _Folders:
    """Volumes that are folders; those that are not there cannot be mounted."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def ask(self, volume: str, asked: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        if not (self.root / volume).is_dir():
            raise UserError(f"{volume}: no volume has this name")
        return [provenance.of(self.root / volume / each["path"], each["reference"]) for each in asked]


@pytest.fixture(scope="module")
def resolved() -> ResolvedStack:
    return stack.load(Settings(_SETTINGS))


@pytest.fixture
def volumes(tmp_path: Path) -> _Folders:
    for name in ("data", "models"):
        (tmp_path / name).mkdir()
    return _Folders(tmp_path)


def _commit(volumes: _Folders, path: str, content: str, **about: Any) -> str:
    source = volumes.root / "source"
    source.mkdir(exist_ok=True)
    (source / "0").write_text(content)
    return Dataset(volumes.root / "data" / path).commit(source, note=Note(**about)).version


def _publish(volumes: _Folders, path: str, number: int, record: Mapping[str, Any]) -> None:
    folder = volumes.root / "models" / path / str(number) / "assets.extra"
    folder.mkdir(parents=True)
    (folder / "lineage.json").write_text(json.dumps(record))


def _chain(volumes: _Folders) -> tuple[str, str]:
    """raw -> clean -> digits@1 -> digits@2, which read clean too."""
    raw = _commit(volumes, "datasets/raw", "raw", author="ann", message="first import")
    clean = _commit(
        volumes,
        "kept/clean",
        "clean",
        provenance={
            "inputs": [{"dataset": "raw", "version": raw}],
            "pipeline": "prepare",
            "parts": {"parts": 3, "done": 1, "skipped": 2, "failed": 0},
            "stage": "clean",
            "image": "prep:1",
            "command": ["sh", "clean.sh"],
            "params": {"size": 8},
        },
    )
    source = {"dataset": "clean", "volume": "data", "path": "kept/clean", "version": clean}
    _publish(volumes, "digits", 1, {"run": "digits-1", "inputs": [source]})
    _publish(
        volumes,
        "digits",
        2,
        {
            "run": "digits-2",
            "job": "digits",
            "image": "train:1",
            "code": "code-abc",
            "inputs": [{"model": "models:/digits", "version": 1}, source],
            "settings": {"command": ["python3", "train.py"], "strategy": {"kind": "single"}, "env": {"EPOCHS": "2"}},
            "seed": 7,
            "steps": 60,
            "metrics": {"loss": 0.25},
            "published": "2026-11-26T15:00:00Z",
            "versions": {"tensorplane": "0.1.0"},
        },
    )
    return raw, clean


def _of(target: str, resolved: ResolvedStack, volumes: _Folders) -> Graph:
    return graph.of(version_paths.from_argument(target, resolved), resolved, volumes)


def _tree(found: Graph) -> str:
    console = Console(width=120, record=True, file=io.StringIO())
    console.print(text.tree(found))
    return console.export_text()


def test_a_model_leads_back_to_the_first_files(resolved: ResolvedStack, volumes: _Folders) -> None:
    raw, clean = _chain(volumes)
    found = _of("digits", resolved, volumes)
    assert [node.id for node in found] == [
        "models:/digits@2",
        "models:/digits@1",
        f"data:/kept/clean@{clean}",
        f"data:/datasets/raw@{raw}",
    ]
    lines = [line.strip("│├└─ ") for line in _tree(found).splitlines()]
    assert lines[:12] == [
        "digits@2  model models:/digits",
        "published 2026-11-26 15:00:00 UTC",
        "run digits-2, job digits",
        "image train:1",
        "code abc",
        "command python3 train.py",
        "params EPOCHS=2",
        "strategy single",
        "seed 7",
        "60 steps, loss 0.25",
        "tensorplane 0.1.0",
        "models:/digits@1  model models:/digits",
    ]
    assert "pipeline prepare, stage clean" in lines
    assert "3 parts: 1 done, 2 skipped" in lines
    assert "params size=8" in lines
    assert any(line.startswith("commit ") and line.endswith(": first import") for line in lines)
    assert any(line.startswith("committed ") and line.endswith(" UTC by ann") for line in lines)
    assert [line for line in lines if line.endswith("(above)")] == [
        f"clean@{clean[:12]}  dataset data:/kept/clean  (above)"
    ]


def test_a_version_says_when_and_where_it_was_made(resolved: ResolvedStack, volumes: _Folders) -> None:
    l4 = {"name": "NVIDIA L4", "driver": "570.1", "cuda": "12.8"}
    gpus = {"accelerators": [{**l4, "uuid": "GPU-1"}, {**l4, "uuid": "GPU-2"}], "processor": "EPYC", "kernel": "6.1"}
    record = {
        "started": "2026-11-26T14:53:40Z",
        "machines": [
            {"node": "b", **gpus},
            {"node": "a", **gpus},
            {"node": "a", **gpus},
            {"node": "c", "kernel": "6.12"},
        ],
        "restarts": [
            {"time": "2026-11-26T14:55:00Z", "after": "stopped"},
            {"time": "2026-11-26T14:57:02Z", "after": "exit 1", "pod": "worker-0-1"},
        ],
    }
    _publish(volumes, "digits", 1, record)
    assert _tree(_of("digits", resolved, volumes)).splitlines()[1:] == [
        "started 2026-11-26 14:53:40 UTC",
        "on a, b: 2 NVIDIA L4, driver 570.1, CUDA 12.8, EPYC, kernel 6.1",
        "on c: kernel 6.12",
        "restarted 2 times, the last one 2026-11-26 14:57:02 UTC after exit 1 of worker-0-1",
    ]


def test_versions_are_chosen_by_references(resolved: ResolvedStack, volumes: _Folders) -> None:
    raw, clean = _chain(volumes)
    newer = _commit(volumes, "datasets/raw", "newer")
    assert _of("raw", resolved, volumes).target == f"data:/datasets/raw@{newer}"
    assert _of("raw@main~1", resolved, volumes).target == f"data:/datasets/raw@{raw}"
    assert _of(f"data:/kept/clean@{clean[:6]}", resolved, volumes).target == f"data:/kept/clean@{clean}"
    assert _of("models:/digits@1", resolved, volumes).target == "models:/digits@1"


def test_a_version_that_was_rolled_back_to_says_what_made_it(resolved: ResolvedStack, volumes: _Folders) -> None:
    raw, clean = _chain(volumes)
    _commit(volumes, "kept/clean", "another")
    dataset = Dataset(volumes.root / "data" / "kept/clean")
    first = dataset.resolve("main~1").id
    dataset.rollback(first)
    found = _of("clean", resolved, volumes)
    lines = [line.strip("│├└─ ") for line in _tree(found).splitlines()]
    assert lines[0].startswith(f"clean@{clean[:12]}")
    assert f"rolled back to commit {first[:12]}" in lines
    assert {"pipeline prepare, stage clean", "image prep:1", "params size=8"} < set(lines)
    assert [each.title for each in found][1:] == [f"raw@{raw[:12]}"]


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        ("digit", r"digit: no model and no dataset has this name; choose one of clean, digits, digits-server, raw .*"),
        ("digits@7", r"digits@7: no version has this number; choose one of 1, 2 \(did you mean 2\?\)"),
        ("raw@mian", r"raw@mian: is no branch, label, commit or version; choose one of main \(did you mean main\?\)"),
        ("raw@main~3", r"raw@main~3: main has only 1 commits"),
        ("digits-server", r"digits-server: no version was published or committed there"),
        ("nothing:/x", r"nothing:/x: nothing: no volume has this name"),
    ],
)
def test_what_is_not_there_is_said_with_the_nearest_name(
    resolved: ResolvedStack, volumes: _Folders, target: str, reason: str
) -> None:
    _chain(volumes)
    with pytest.raises(UserError, match=reason):
        _of(target, resolved, volumes)


def test_a_name_of_a_dataset_and_a_workload_is_refused() -> None:
    declared = {**_SETTINGS, "datasets": {"digits": {"volume": "data"}}}
    with pytest.raises(UserError, match="is a dataset and a workload; write data:/datasets/digits or models:/digits"):
        version_paths.from_argument("digits", stack.load(Settings(declared)))


def test_inputs_that_are_gone_are_named(resolved: ResolvedStack, volumes: _Folders) -> None:
    lost = [
        {"dataset": "rwa", "version": "a" * 64},
        {"dataset": "raw", "version": "b" * 64},
        {"model": "models:/base", "version": 3},
        {"dataset": "far", "volume": "elsewhere", "path": "far", "version": "c" * 64},
    ]
    _commit(volumes, "datasets/raw", "raw")
    _publish(volumes, "digits", 1, {"inputs": lost})
    found = _of("digits", resolved, volumes)
    assert [node.problem for node in found] == [
        "",
        "the stack has no such dataset (did you mean raw?)",
        "is no branch, label, commit or version; choose one of main",
        "no version was published or committed there",
        "elsewhere: no volume has this name",
    ]
    assert "elsewhere: no volume has this name" in _tree(found)


@pytest.mark.parametrize("inputs", [None, "raw", [["raw", "1"]]])
def test_inputs_in_another_form_lead_nowhere(resolved: ResolvedStack, volumes: _Folders, inputs: object) -> None:
    _commit(volumes, "datasets/raw", "1", provenance={"inputs": inputs})
    found = _of("raw", resolved, volumes)
    assert [node.inputs for node in found] == [()]


@pytest.mark.parametrize(
    ("record", "line"),
    [
        ({"params": ["--size", "8"]}, "params ['--size', '8']"),
        ({"settings": "train.yaml"}, "settings train.yaml"),
        ({"settings": {"strategy": "mirrored"}}, "settings {'strategy': 'mirrored'}"),
        ({"settings": {"env": ["A=1"]}}, "settings {'env': ['A=1']}"),
        ({"metrics": {"loss": None, "accuracy": "high", "auc": 0.5}}, "accuracy high, auc 0.5, loss None"),
        ({"metrics": [0.5]}, "metrics [0.5]"),
        ({"parts": 3}, "parts 3"),
        ({"parts": {"done": "all"}}, "parts {'done': 'all'}"),
        ({"steps": "100"}, "steps 100"),
        ({"started": "yesterday"}, "started yesterday"),
        ({"machines": ["a"]}, "machines ['a']"),
        ({"machines": [{"accelerators": ["L4"]}]}, "machines [{'accelerators': ['L4']}]"),
        ({"restarts": [{"time": "now"}]}, "restarts [{'time': 'now'}]"),
        ({"versions": ["tensorflow 2"]}, "versions ['tensorflow 2']"),
        ({"data": "s3://digits"}, "data s3://digits"),
        ({"data": {"volumes": 3}}, "data {'volumes': 3}"),
        ({"reproduces": "digits@2"}, "reproduces digits@2"),
        ({"params": None, "settings": None, "data": None, "stage": "clean"}, "stage clean"),
    ],
)
def test_an_entry_in_another_form_is_shown_as_it_is(
    resolved: ResolvedStack, volumes: _Folders, record: Mapping[str, Any], line: str
) -> None:
    _commit(volumes, "datasets/raw", "raw", provenance=record)
    found = _of("raw", resolved, volumes)
    assert _tree(found).splitlines()[4:] == [line]
    assert len(events := [*openlineage.events(found, "dev")]) == 2
    assert all(event["run"]["facets"]["tensorplane_lineage"].items() >= record.items() for event in events)


def test_a_program_that_wrote_of_a_rollback_made_none(resolved: ResolvedStack, volumes: _Folders) -> None:
    _commit(volumes, "datasets/raw", "raw", provenance={"rollback": "never"})
    assert "rolled back" not in _tree(_of("raw", resolved, volumes))


def test_a_record_that_names_itself_ends(resolved: ResolvedStack, volumes: _Folders) -> None:
    _publish(volumes, "digits", 1, {"inputs": [{"model": "models:/digits", "version": 1}]})
    found = _of("digits", resolved, volumes)
    assert [node.id for node in found] == ["models:/digits@1"]
    assert "(above)" in _tree(found)
    assert list(_columns(found)) == ["models:/digits@1"]


def test_programs_get_every_fact(
    resolved: ResolvedStack, volumes: _Folders, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    raw, clean = _chain(volumes)
    lineage.show(_of("digits", resolved, volumes), "dev", OutputFormat(as_json=True), Console())
    found = json.loads(capsys.readouterr().out)
    assert found["target"] == "models:/digits@2"
    by_id = {each["id"]: each for each in found["versions"]}
    assert by_id["models:/digits@2"]["inputs"] == ["models:/digits@1", f"data:/kept/clean@{clean}"]
    assert by_id["models:/digits@2"]["record"]["settings"]["env"] == {"EPOCHS": "2"}
    assert by_id[f"data:/datasets/raw@{raw}"]["commit"]["author"] == "ann"
    lineage.show(_of("digits", resolved, volumes), "dev", OutputFormat(tmp_path / "lineage.svg"), Console())
    assert "written" in capsys.readouterr().out
    with pytest.raises(UserError, match="No such file or directory"):
        lineage.show(_of("digits", resolved, volumes), "dev", OutputFormat(tmp_path / "no" / "x.svg"), Console())


_SVG = "{http://www.w3.org/2000/svg}"


def _columns(found: Graph) -> dict[str, float]:
    """How far each version is from the left of the picture."""
    drawn = ElementTree.fromstring(picture.svg(found))
    return {
        (group.findtext(f"{_SVG}title") or "").splitlines()[0]: float(group.find(f"{_SVG}rect").attrib["x"])  # type: ignore[union-attr]
        for group in drawn.findall(f"{_SVG}g")
    }


def test_the_picture_has_each_version_once(resolved: ResolvedStack, volumes: _Folders) -> None:
    _chain(volumes)
    found = _of("digits", resolved, volumes)
    drawn = ElementTree.fromstring(picture.svg(found))
    assert len(drawn.findall(f"{_SVG}g")) == 4
    assert len(drawn.findall(f"{_SVG}path")) == 4
    assert len(set(_columns(found).values())) == 4


@st.composite
def _graphs(draw: st.DrawFn) -> Graph:
    """Versions, each made from some of the later ones, and all reachable from the first."""
    count = draw(st.integers(1, 12))
    inputs: dict[int, set[int]] = {
        number: draw(st.sets(st.integers(number + 1, count - 1), max_size=3)) if number < count - 1 else set()
        for number in range(count)
    }
    for number in range(1, count):
        if not any(number in each for each in inputs.values()):
            inputs[draw(st.integers(0, number - 1))].add(number)
    made = [
        Node("model", "<&>", "v:/m", str(number), inputs=tuple(f"v:/m@{each}" for each in sorted(inputs[number])))
        for number in range(count)
    ]
    return Graph(made[0].id, {node.id: node for node in made})


@pytest.mark.counted
@settings(max_examples=counts.of(quick=15, nightly=500))
@given(found=_graphs())
def test_every_version_is_left_of_what_was_made_from_it(found: Graph) -> None:
    column = _columns(found)
    assert sorted(column) == sorted(found.nodes)
    assert all(column[each] < column[found.target] for each in found.nodes if each != found.target)
    assert all(column[each] < column[node.id] for node in found for each in node.inputs)


def test_the_program_of_the_pod_answers(volumes: _Folders) -> None:
    """With nothing of the library but what the pod has."""
    raw, _ = _chain(volumes)
    asked = [{"path": "data/datasets/raw", "reference": ""}, {"path": "models/digits", "reference": "1"}]
    done = subprocess.run(
        [sys.executable, *remote.command("tensorplane.provenance", str(volumes.root))[1:]],
        input=json.dumps(asked) + "\n",
        env={remote.LIBRARY: remote.library()},
        capture_output=True,
        text=True,
    )
    first, second = json.loads(done.stdout or done.stderr)
    assert (first["kind"], first["commit"]["version"], first["kept"]) == ("dataset", raw, True)
    assert (second["version"], second["lineage"]["run"]) == ("1", "digits-1")
