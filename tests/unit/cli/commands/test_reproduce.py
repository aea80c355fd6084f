"""`tensorplane reproduce`: the job that makes a model again from what its version records, and what it says."""

from __future__ import annotations

import base64
import io
import json
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tensorplane import content, job_files, lineage, provenance, stack
from tensorplane.cli.commands.lineage import graph, version_paths
from tensorplane.cli.commands.lineage.graph import Node
from tensorplane.cli.commands.reproduce import command as reproduce
from tensorplane.cli.commands.reproduce import comparison, recipe
from tensorplane.cli.commands.run import plan, request
from tensorplane.cli.commands.run.plan import Planned
from tensorplane.cli.commands.run.platform import Platform
from tensorplane.cli.commands.run.request import JobOptions, JobRequest
from tensorplane.components.base.settings import Settings
from tensorplane.core.errors import UserError
from tensorplane.datasets import Dataset
from tests.support import counts

_TREE: dict[str, Any] = {
    "volumes": {"data": {"sizeGib": 1}, "models": {"sizeGib": 1, "path": "/models"}},
    "datasets": {"raw": {"volume": "data"}},
    "queues": {"training": {"cpus": 8, "memoryGib": 32}},
}
_PLATFORM = Platform("dev", Settings(_TREE))
_DIGESTS = {"variable dense/kernel": "1", "variable dense/bias": "2", "signature serving_default": "3"}


@pytest.fixture(scope="module")
def mine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a program."""
    folder = tmp_path_factory.mktemp("mine")
    (folder / "train.py").write_text("print(1)")
    (folder / "tools").mkdir()
    (folder / "tools" / "layers.py").write_text("layers = 3")
    return folder


class _Folders:
    def __init__(self, root: Path) -> None:
        self.root = root

    def ask(self, volume: str, asked: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        return [
            provenance.of(self.root / volume / each["path"], each["reference"], code=each["code"]) for each in asked
        ]


def _job(mine: Path, **changed: Any) -> JobRequest:
    given = JobOptions(queue="training", volumes=("models", "data:/data:ro"), variables=("EPOCHS=3",))
    job = request.job("digits", None, ["python", "train.py", "--wide"], given)
    return replace(job, folder=mine, settings={**job.settings, **changed})


def _recorded(planned: Planned) -> dict[str, Any]:
    """What the job's pods know of it."""
    (first, *_) = planned.manifest.job_set["spec"]["replicatedJobs"]
    env = first["template"]["spec"]["template"]["spec"]["containers"][0]["env"]
    return dict(json.loads(next(each["value"] for each in env if each["name"] == "TENSORPLANE_LINEAGE")))


def _published(root: Path, planned: Planned, mine: Path, **record: Any) -> Path:
    """The version that the job publishes, without what TensorFlow writes."""
    folder = root / "models" / "digits" / "3"
    (folder / "assets.extra").mkdir(parents=True, exist_ok=True)
    found = {**_recorded(planned), "runSeed": 17, "seed": 17, **record}
    (folder / lineage.FILE).write_text(json.dumps(found))
    (folder / content.FILE).write_text(json.dumps(_DIGESTS))
    job_files.write_archive(folder / lineage.CODE, mine)
    return folder


def _version(root: Path) -> Node:
    resolved = stack.load(Settings(_TREE))
    return reproduce.get_complete_version(
        version_paths.from_argument("models:/digits@3", resolved), resolved, _Folders(root)
    )


def _again(node: Node, folder: Path) -> tuple[JobRequest, Planned]:
    job = recipe.job(node, folder, built_here=True)
    return job, plan.planned(job, _PLATFORM, reproduces=recipe.reproduces(node))


def test_the_job_has_the_recipe_of_then_and_another_folder(tmp_path: Path, mine: Path) -> None:
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "0").write_text("zero")
    version = Dataset(tmp_path / "data/datasets/raw").commit(tmp_path / "source")
    source = {"dataset": "raw", "version": version.version, "commit": version.id, "reference": "main"}
    first = plan.planned(_job(mine, onSuccess={"command": ["python3", "-c", "pass"]}), _PLATFORM)
    _published(tmp_path, first, mine, inputs=[source])
    node = _version(tmp_path)
    job, again = _again(node, tmp_path / "code")
    recipe.check_same(again, node)
    assert job.name == "digits-reproduced"
    assert job.settings["model"] == {"volume": "models", "path": "reproduced/digits/3"}
    assert job.settings["onSuccess"] == {"command": ["python3", "-c", "pass"]}
    now = _recorded(again)
    assert (now["code"], now["image"]) == (_recorded(first)["code"], _recorded(first)["image"])
    assert now["settings"]["command"] == ["python3", "train.py", "--wide"]
    assert now["reproduces"] == {
        "model": "models:/digits",
        "version": "3",
        "run": first.run,
        "runSeed": 17,
        "inputs": [source],
    }


_VARIABLES = st.dictionaries(st.sampled_from(["A", "B", "RATE"]), st.sampled_from(["1", "x y", "ü", ""]), max_size=3)
_STRATEGIES = st.sampled_from(
    [
        {"kind": "single"},
        {"kind": "multiWorkerMirrored", "workers": 2},
        {"kind": "multiWorkerMirrored", "workers": 3, "evaluator": {"command": ["python3", "train.py"]}},
        {"kind": "parameterServer", "workers": 2, "servers": 1},
    ]
)
_RESOURCES = st.sampled_from([{}, {"cpus": 0.5}, {"cpus": 0.3, "memoryGib": 1}])
_CHECKPOINTS = st.sampled_from([{}, {"everySteps": 7}, {"path": "saved"}, {"saveSeconds": 3}])


@pytest.mark.counted
@settings(
    max_examples=counts.of(quick=8, nightly=200),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(env=_VARIABLES, strategy=_STRATEGIES, resources=_RESOURCES, checkpoints=_CHECKPOINTS, attempt=st.integers(1, 3))
def test_nothing_that_decides_the_result_differs_but_the_folder(
    tmp_path: Path,
    mine: Path,
    *,
    env: Any,
    strategy: Any,
    resources: Any,
    checkpoints: Any,
    attempt: int,
) -> None:
    given = {"env": env, "strategy": strategy, "resources": resources, "attempt": attempt}
    first = plan.planned(_job(mine, **given, checkpoints={"volume": "models", **checkpoints}), _PLATFORM)
    _published(tmp_path, first, mine)
    node = _version(tmp_path)
    _, again = _again(node, tmp_path / "code")
    recipe.check_same(again, node)
    then, now = (each.manifest.run.decisive or {} for each in (first, again))
    assert {part for part in {*then, *now} if then.get(part) != now.get(part)} == {"model"}
    assert again.pods == first.pods


@pytest.mark.parametrize(
    ("missing", "reason"),
    [
        ("code.zip", "models:/digits@3: its code is gone: assets.extra/code.zip is missing"),
        ("content.json", "models:/digits@3: cannot be compared: assets.extra/content.json is missing"),
        ("lineage.json", "its settings are not recorded: no training job published it"),
    ],
)
def test_a_part_that_is_gone_is_named(tmp_path: Path, mine: Path, missing: str, reason: str) -> None:
    folder = _published(tmp_path, plan.planned(_job(mine), _PLATFORM), mine)
    (folder / "assets.extra" / missing).unlink()
    with pytest.raises(UserError, match=reason):
        _version(tmp_path)


def test_a_model_of_a_pipelines_stage_is_made_again_by_the_pipeline(tmp_path: Path, mine: Path) -> None:
    _published(tmp_path, plan.planned(_job(mine), _PLATFORM), mine, pipeline="photos", stage="train")
    with pytest.raises(
        UserError, match="digits@3: was trained in stage train of pipeline photos, whose pods alone have its"
    ):
        _version(tmp_path)


def test_every_part_that_is_gone_is_named_at_once(tmp_path: Path, mine: Path) -> None:
    inputs = [{"dataset": "raw", "version": "a" * 64}, {"dataset": "lost", "version": "b" * 64}]
    other = tmp_path / "other"
    other.mkdir()
    (other / "train.py").write_text("print(2)")
    data: dict[str, Any] = {"streams": {"events": {}}}
    _published(tmp_path, plan.planned(_job(mine), _PLATFORM), other, inputs=inputs, data=data)
    with pytest.raises(UserError) as found:
        _version(tmp_path)
    code, raw, lost, stream = found.value.lines
    assert "its code has changed: assets.extra/code.zip is not code-" in code
    assert "its input raw@aaaaaaaaaaaa is gone: no version was published or committed there" in raw
    assert "its input lost@bbbbbbbbbbbb is gone: the stack has no such dataset" in lost
    assert "it was trained on stream events, whose records have no version" in stream


def test_a_version_whose_files_the_retention_deleted_is_gone() -> None:
    node = Node("model", "m", "models:/m", "1", {"settings": {"command": []}}, content=_DIGESTS)
    source = Node("dataset", "raw", "data:/raw", "c" * 64, is_kept=False)
    assert recipe.missing_parts(node, [source]) == [
        f"m@1: its input raw@{'c' * 12} is gone: the retention has deleted its files"
    ]


def test_a_reference_that_named_two_versions_is_refused() -> None:
    inputs = [{"dataset": "raw", "version": one * 64, "reference": "main"} for one in "ab"]
    more = [{"dataset": "raw", "version": "a" * 64, "reference": "good"}]
    record = {"settings": {"command": []}, "inputs": [*inputs, *more]}
    node = Node("model", "m", "models:/m", "1", record, content=_DIGESTS)
    problem = f"was read as 2 versions ({'a' * 12}, {'b' * 12}), and when each was read is not recorded"
    assert recipe.missing_parts(node, []) == [
        f"m@1: its input raw@main {problem}; let the program read a commit or a label"
    ]


def test_a_version_that_was_read_by_two_references_and_is_gone_is_named_once() -> None:
    node = Node("model", "m", "models:/m", "1", {"settings": {"command": []}}, content=_DIGESTS)
    source = Node("dataset", "raw", "data:/raw", "c" * 64, is_kept=False)
    assert len(recipe.missing_parts(node, [source, source])) == 1


def test_a_dataset_is_refused() -> None:
    assert recipe.missing_parts(Node("dataset", "raw", "data:/raw", "c" * 64), []) == [
        f"raw@{'c' * 12}: is a version of a dataset; run its pipeline again"
    ]


def test_another_image_is_refused(tmp_path: Path, mine: Path) -> None:
    _published(tmp_path, plan.planned(_job(mine), _PLATFORM), mine)
    node = _version(tmp_path)
    _, again = _again(node, tmp_path / "code")
    other = replace(node, record={**node.record, "image": "other:1", "packages": "abc"})
    with pytest.raises(UserError) as found:
        recipe.check_same(again, other)
    assert [line.partition(";")[0] for line in found.value.lines] == [
        "models:/digits@3: image would differ from other:1",
        "models:/digits@3: packages would differ from abc",
    ]


def test_code_that_leads_out_of_its_folder_is_not_written(tmp_path: Path, mine: Path) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("../evil.py", "")
    code = base64.b64encode(packed.getvalue()).decode()
    node = Node("model", "m", "models:/m", "1", {"settings": {}, "image": "i"}, code=code)
    with pytest.raises(UserError, match=r"leads out of the folder; nothing is run"):
        recipe.job(node, tmp_path / "code", built_here=True)
    assert not (tmp_path / "evil.py").exists()


_THEN = Node("model", "digits", "models:/digits", "3", {"steps": 60, "seed": 7}, content=_DIGESTS)
_NOW = replace(_THEN, name="x", location="models:/reproduced/digits/3", version="1")


def test_equal_models_are_said_to_be_equal() -> None:
    assert not comparison.differing(_THEN.content, _NOW.content)
    assert comparison.identical(_THEN, _NOW) == (
        "digits@3: made again as models:/reproduced/digits/3@1, equal to the bit: 2 variables and 1 signature"
    )


def test_what_differs_is_named_with_what_may_be_the_reason() -> None:
    now, before = ({"node": node, "processor": cpu} for node, cpu in (("b", "EPYC"), ("a", "Xeon")))
    record: dict[str, Any] = {"steps": 59, "versions": {"keras": "3.14.0"}, "machines": [now]}
    record["inputs"] = [{"dataset": "raw", "version": "b"}]
    other = replace(_NOW, record=record, content={**_DIGESTS, "variable dense/bias": "9"})
    then = replace(
        _THEN,
        record={"steps": 60, "settings": {"strategy": {"kind": "parameterServer"}}, "machines": [before, before]},
    )
    assert comparison.lines(then, other) == [
        "digits@3: made again as models:/reproduced/digits/3@1, and differs in 1 of 3 parts: variable dense/bias",
        "  keras was none, and is 3.14.0",
        "  it was made on Xeon, and is made on EPYC",
        "  it has read other versions of its datasets: open them by the same references as then",
        "  it has made 59 steps instead of 60",
        "  workers of parameter servers update variables in any order",
        "  its program has no seed: call tensorplane.strategy() or keras.utils.set_random_seed()",
    ]


def test_digests_come_with_the_code_alone(tmp_path: Path, mine: Path) -> None:
    _published(tmp_path, plan.planned(_job(mine), _PLATFORM), mine)
    resolved = stack.load(Settings(_TREE))
    target = version_paths.from_argument("models:/digits", resolved)
    assert not graph.get_node(target, _Folders(tmp_path)).content
    assert graph.get_node(target, _Folders(tmp_path), code=True).content == _DIGESTS
