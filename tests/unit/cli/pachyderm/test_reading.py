"""Files of pipeline specs: every form that pachctl takes, and what is none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tensorplane.cli.pachyderm import reading
from tensorplane.core.errors import UserError


def _spec(**more: Any) -> dict[str, Any]:
    pfs = {"pfs": {"repo": "photos", "glob": "/*"}}
    return {"pipeline": {"name": "a"}, "transform": {"image": "team/a:1", "cmd": ["a"]}, "input": pfs, **more}


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.json", json.dumps(_spec())),
        ("a.json", f"{json.dumps(_spec())}\n---\n{json.dumps(_spec(pipeline={'name': 'b'}))}\n"),
        ("a.json", f"{json.dumps(_spec(), indent=2)}{json.dumps(_spec(pipeline={'name': 'b'}))}"),
        ("a.json", json.dumps([_spec(), _spec(pipeline={"name": "b"})])),
        ("a.yaml", yaml.safe_dump_all([_spec(), _spec(pipeline={"name": "b"})])),
        ("a.yaml", yaml.safe_dump([_spec(), _spec(pipeline={"name": "b"})])),
        (
            "a.json",
            json.dumps({"pipeline": {"name": "a"}, "version": 3, "details": {**_spec(), "created_at": "now"}}),
        ),
    ],
)
def test_specs_are_read_in_every_form_that_pachctl_reads_or_writes(name: str, content: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(content)
    found = reading.read([tmp_path / name])
    assert [spec.name for spec in found] == ["a", "b"][: len(found)]
    assert all(spec.transform and spec.transform.cmd == ["a"] for spec in found)
    assert not any(spec.model_extra for spec in found)


@pytest.mark.parametrize(
    ("name", "content", "line"),
    [
        ("a.jsonnet", "function(x) {}", "a.jsonnet: is a Jsonnet template; render it"),
        ("a.json", "{", "a.json, line 1: is neither JSON nor YAML"),
        ("a.yaml", "", "a.yaml: has no pipeline spec"),
        ("a.yaml", "transform: {}", "a.yaml: pipeline: field required"),
        ("a.yaml", "{pipeline: {name: a}, input: {pfs: {glob: /}}}", "a.yaml: input.pfs.repo: field required"),
        (
            "a.yaml",
            "{pipeline: {name: $NAME}, input: {pfs: {repo: b}}}",
            "a.yaml: pipeline.name: '$NAME' is a variable",
        ),
        ("a.json", '{"pipeline": {"name": "a"}, "salt": "x", "salt": "y"}', "a.json: salt is set twice in one place"),
        ("a.yaml", "pipeline: {name: a}\nsalt: x\nsalt: y", "a.yaml: salt is set twice in one place; remove one"),
        (
            "a.yaml",
            "{pipeline: {name: a}, datumTries: 1, datum_tries: 2}",
            "a.yaml: spec: datum_tries and datumTries are one field; remove one of them",
        ),
        ("a.yaml", "pipeline: {name: a}\n---\npipeline: {name: a}", "a: is the name of several of the pipelines"),
    ],
)
def test_files_that_are_no_specs_are_refused_in_a_line(name: str, content: str, line: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(UserError) as caught:
        reading.read([tmp_path / name])
    assert [one[: len(line)] for one in caught.value.lines] == [line]


def test_merge_keys_of_yaml_set_no_field_twice(tmp_path: Path) -> None:
    shared = "b: &b {k: 1, l: 1}\nx: {a: &a {<<: *b, k: 2}}\nc: {<<: *a}\n"
    (tmp_path / "a.yaml").write_text(f"{yaml.safe_dump(_spec())}{shared}")
    (found,) = reading.read([tmp_path / "a.yaml"])
    merged = {"k": 2, "l": 1}
    assert found.model_extra == {"b": {"k": 1, "l": 1}, "x": {"a": merged}, "c": merged}


def test_a_file_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(
        UserError, match=r"no\.json: cannot be read: No such file or directory; name a file of pipeline specs"
    ):
        reading.read([tmp_path / "no.json"])
