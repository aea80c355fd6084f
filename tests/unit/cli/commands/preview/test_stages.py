"""Pipelines in the report: what an update does to each stage, as a picture and in words."""

from __future__ import annotations

import copy
import xml.etree.ElementTree as ElementTree
from typing import Any

import pytest

from tensorplane.cli.commands.preview import comparison, render, stages
from tensorplane.cli.commands.preview.engine import Streamed
from tensorplane.cli.commands.preview.report import Report
from tensorplane.driver.update.data_at_risk import Acknowledged
from tests.support import previewed_graphs
from tests.support.rendering import PROJECT

_SVG = "{http://www.w3.org/2000/svg}"
_BEFORE = previewed_graphs.settings(PROJECT / "examples/pipeline.yaml")


@pytest.fixture(scope="module")
def before() -> Streamed:
    return previewed_graphs.streamed(_BEFORE)


def _changed(before: Streamed, **stages_: dict[str, Any] | None) -> Report:
    """The report of a change of stages: their keys that change; None for a stage that goes."""
    tree: dict[str, Any] = copy.deepcopy(dict(_BEFORE))
    declared = tree["workloads"]["photos"]["stages"]
    for name, keys in stages_.items():
        if keys is None:
            del declared[name]
        else:
            declared[name] = {**declared.get(name, {}), **keys}
    return comparison.report(
        "prod", "abc", before, previewed_graphs.streamed(tree), acknowledged=Acknowledged("Pulumi.prod.yaml")
    )


def _texts(report: Report) -> list[str]:
    return [element.text or "" for element in ElementTree.fromstring(stages.svg(report)).iter(f"{_SVG}text")]


def test_a_pipeline_that_does_not_change_is_left_out(before: Streamed) -> None:
    report = _changed(before)
    assert stages.svg(report) == ""
    assert "## Pipelines" not in render.markdown(report)


def test_another_command_changes_its_stage_alone(before: Streamed) -> None:
    report = _changed(before, train={"command": ["python3", "other.py"]})
    assert stages.words(report) == [
        "photos/train: another program; its next run works on all inputs again, unless `reprocess` is `new`"
    ]
    texts = _texts(report)
    assert texts[0] == "photos"
    assert "prepare" in texts
    assert texts[texts.index("± train") + 3] == "another program"
    assert "## Pipelines" in render.markdown(report)


def test_where_pods_run_is_told_apart_from_what_they_run(before: Streamed) -> None:
    (line,) = stages.words(_changed(before, prepare={"parallel": 3}))
    assert line == "photos/prepare: 16 pods is now 3 pods"


def test_stages_that_come_and_go_are_drawn(before: Streamed) -> None:
    small = {
        "image": "registry.example/small@sha256:" + "0" * 64,
        "command": ["small"],
        "inputs": {"photos": "prepared"},
        "output": "model",
    }
    report = _changed(before, train=None, small=small)
    assert stages.words(report) == ["photos/small: new", "photos/train: deleted"]
    assert {"+ small", "\N{MINUS SIGN} train", "prepare"} <= set(_texts(report))


def test_a_new_pipeline_is_drawn_and_a_deployed_one_of_an_older_version_is_not() -> None:
    stage = {"after": [], "reads": ["raw"], "writes": "b", "queue": "", "gpus": 0, "parallel": 1, "program": "1"}
    new = {"stages": ["a"], "dag": {"a": stage}, "gpus": 0}

    def of(old: dict[str, Any], after: dict[str, Any]) -> list[str]:
        return stages.words(Report("dev", components={"tensorplane:index:Pipeline": {"p": (old, after)}}))

    assert of({}, new) == ["p/a: new"]
    assert of(new, {}) == ["p/a: deleted"]
    assert of({"stages": ["a"], "gpus": 0}, new) == []
    assert of({"stages": ["a"], "gpus": 0}, {}) == []


def _joining(**notes: Any) -> dict[str, Any]:
    photos = {"dataset": "raw", "split": "directory"}
    return {"inputs": {"photos": photos, "notes": {"dataset": "raw", **notes}}, "join": "name"}


def test_a_join_of_folders_that_a_former_version_deployed_is_named() -> None:
    tree: dict[str, Any] = copy.deepcopy(dict(_BEFORE))
    stage = tree["workloads"]["photos"]["stages"]["prepare"]
    stage.update(_joining(split="file"))
    streamed = previewed_graphs.streamed(tree)
    former = copy.deepcopy(streamed)
    for event in former.events:
        for metadata in (part.get("metadata", {}) for part in event.values() if isinstance(part, dict)):
            for state in (metadata.get("old"), metadata.get("new")):
                dag = ((state or {}).get("inputs") or {}).get("dag") or ((state or {}).get("outputs") or {}).get("dag")
                if dag:
                    dag["prepare"].pop("keys", None)
    report = comparison.report("prod", "abc", former, streamed, acknowledged=Acknowledged("Pulumi.prod.yaml"))
    assert stages.words(report) == [
        "photos/prepare: other keys of its join; its next run joins photos by the full names of folders, and names of "
        "files without their ending"
    ]


def test_a_key_that_is_stated_is_named(before: Streamed) -> None:
    tree: dict[str, Any] = copy.deepcopy(dict(_BEFORE))
    tree["workloads"]["photos"]["stages"]["prepare"].update(_joining(split="file"))
    changed = copy.deepcopy(tree)
    changed["workloads"]["photos"]["stages"]["prepare"].update(_joining(split="file", key="(*).tar.gz"))
    report = comparison.report(
        "prod",
        "abc",
        previewed_graphs.streamed(tree),
        previewed_graphs.streamed(changed),
        acknowledged=Acknowledged("Pulumi.prod.yaml"),
    )
    (line,) = stages.words(report)
    assert line.startswith("photos/prepare: other keys of its join; its next run joins notes by (*).tar.gz, photos by ")
