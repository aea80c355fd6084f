"""The settings of datasets: faults, all at once, and what commits get of them."""

from __future__ import annotations

from typing import Any, get_args

import pytest

from tensorplane import stack
from tensorplane.components.base.settings import Settings
from tensorplane.components.datasets.settings import ColumnType, DatasetArgs
from tensorplane.components.volumes.checks import rows
from tensorplane.datasets import parquet
from tests.support.problems import CPU, EKS, problems_of


def _tree(dataset: dict[str, Any], volume: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    volumes = {"data": {"sizeGib": 1, **(volume or {})}}
    return {"volumes": volumes, "datasets": {"digits": {"volume": "data", **dataset}}, **more}


def _says(tree: dict[str, Any]) -> list[str]:
    return [line.removeprefix("tensorplane:") for line in problems_of(tree)]


def test_commits_get_the_rules() -> None:
    table = {"columns": {"x": "float32"}, "partitions": ["day"]}
    tree = _tree({"table": table, "conflicts": "last", "retention": {"last": 3}})
    args = stack.load(Settings(tree)).config.datasets["digits"]
    assert args.folder("digits") == "datasets/digits"
    assert args.rules == {"conflicts": "last", "table": table, "retention": {"last": 3, "days": None}}
    assert DatasetArgs(volume="data").rules == {"conflicts": "refuse", "table": None, "retention": None}


@pytest.mark.parametrize(
    ("tree", "says"),
    [
        (
            _tree({"volume": "dat"}),
            "datasets.digits.volume: no volume is named 'dat'; choose one of data (did you mean data?)",
        ),
        (
            _tree({}, {"accessModes": ["ReadOnlyMany"], "from": {"snapshot": "s"}}),
            "datasets.digits.volume: volume data is ReadOnlyMany, so nothing can be committed; choose another volume",
        ),
        (
            _tree({"path": "a/../b"}),
            "datasets.digits.path: invalid value 'a/../b'; use a path from the volume's root, such as datasets/digits",
        ),
        (
            _tree({"retention": {}}),
            "datasets.digits.retention: has neither last nor days, so it would keep everything; set one of them, or "
            "remove it",
        ),
        (
            _tree({"table": {"columns": {"day": "date"}, "partitions": ["day"]}}),
            "datasets.digits.table.partitions: day is in columns too, but a partition's column is in the path alone; "
            "remove one of them",
        ),
        (
            _tree({"table": {"columns": {"x": "date"}, "partitions": ["a=b"]}}),
            "datasets.digits.table.partitions: 'a=b' cannot be in a path; use a name without / and =",
        ),
    ],
)
def test_one_fault_is_one_line(tree: dict[str, Any], says: str) -> None:
    assert _says(tree) == [says]


def test_a_volume_without_hard_links_names_backends_that_have_them() -> None:
    (found,) = _says(_tree({}, {"backend": {"kind": "s3", "bucket": "acme"}}, cluster=EKS, nodeGroups={"cpu": CPU}))
    assert found.startswith(
        "datasets.digits.volume: volume data is on backend s3, which has no hard links, as versions require; use a "
        "volume on cephfs, ebs, efs"
    )
    assert {kind for kind, row in rows().items() if not row.hard_links} == {"gcsFuse", "s3"}


def test_the_volume_of_a_stream_is_refused() -> None:
    streams = {"events": {"volume": "data", "topics": {"clicks": {}}}}
    assert _says(_tree({}, streams=streams)) == [
        "datasets.digits.volume: volume data has the records of stream events; choose another volume"
    ]


def test_two_datasets_do_not_share_a_folder() -> None:
    tree = _tree({"path": "all"})
    tree["datasets"] |= {"inner": {"volume": "data", "path": "all/inner"}, "same": {"volume": "data", "path": "all"}}
    assert _says(tree) == [
        "datasets.inner.path: all/inner is in the folder of dataset digits (all); use a folder of its own",
        "datasets.same.path: all is in the folder of dataset digits (all); use a folder of its own",
    ]


def test_all_types_of_columns_can_be_declared() -> None:
    assert {*get_args(ColumnType)} == parquet.TYPES
