"""What volumes may ask for: every wrong wish is one line, which names the backends that can fulfil it."""

from __future__ import annotations

from typing import Any

import pytest

from tensorplane import stack
from tensorplane.components.base import cron
from tensorplane.components.base.settings import Settings
from tensorplane.components.volumes.backend import Backend
from tensorplane.components.volumes.checks import rows
from tests.support.volume_problems import EXISTING, FILES, HOURLY, lines


def test_every_backend_says_what_it_can() -> None:
    assert set(rows()) == set(Backend.variants)
    for kind, row in rows().items():
        variant = Backend.variants[kind]
        assert issubclass(variant, Backend)
        assert set(variant.access_modes) <= set(row.access_modes), kind
        assert row.max_gib is None or row.min_gib < row.max_gib
        assert (row.snapshot is None) == (row.consistency is None), kind


def test_snapshots_restore_and_clone_are_accepted_where_a_driver_has_them() -> None:
    found = lines(
        models={"backend": FILES, "snapshots": {**HOURLY, "expire": "30d"}},
        copy={"backend": FILES, "from": {"volume": "models"}},
        old={"backend": FILES, "from": {"snapshot": "models-20261121-0400"}},
    )
    assert found == []


@pytest.mark.parametrize(
    ("asked", "key", "what"),
    [
        ({"snapshots": HOURLY}, "snapshots", "snapshots"),
        ({"from": {"snapshot": "models-20261121-0400"}}, "from.snapshot", "snapshots"),
        ({"from": {"volume": "other"}}, "from.volume", "clones"),
    ],
)
def test_what_a_backend_lacks_names_those_that_have_it(asked: dict[str, Any], key: str, what: str) -> None:
    files = {"kind": "nfs", "server": "nfs.example.com", "folder": "/models"}
    (line,) = lines(models={**asked, "backend": files}, other={"backend": files})
    assert line.startswith(f"models.{key}: backend nfs does not support {what}; use ")
    assert "storageClass" in line


def test_snapshots_of_a_class_need_its_driver() -> None:
    (line,) = lines(models={"snapshots": HOURLY})
    assert line.startswith("models.backend.driver: missing, but snapshots require it; set the CSI driver of the")


@pytest.mark.parametrize(
    ("schedule", "need"),
    [
        ("hourly", "five fields"),
        ("* * * *", "five fields"),
        ("* * * * * *", "five fields"),
        ("@hourli", "five fields"),
        ("60 * * * *", "0 to 59 for the minute"),
        ("0 24 * * *", "0 to 23 for the hour"),
        ("0 0 0 * *", "1 to 31 for the day of the month"),
        ("0 0 * 13 *", "1 to 12 for the month"),
        ("0 0 * * 7", "0 to 6 for the day of the week"),
        ("5-1 * * * *", "0 to 59 for the minute"),
        ("*/0 * * * *", "0 to 59 for the minute"),
        ("1,,2 * * * *", "0 to 59 for the minute"),
        ("0 0 31 2,4 *", "a day that exists in its months"),
        ("0 0 30-31 feb *", "a day that exists in its months"),
    ],
)
def test_nonsense_of_a_schedule_is_one_line(schedule: str, need: str) -> None:
    (line,) = lines(models={"backend": FILES, "snapshots": {"schedule": schedule}})
    assert line.startswith(f"models.snapshots.schedule: invalid value {schedule!r}; use {need}")


@pytest.mark.parametrize(
    "schedule", ["*/5 0-6,18 1 jan-MAR ?", "@daily", "0 0 29 2 *", "0 0 31 2 mon", "7/10 * * * 1-5"]
)
def test_a_schedule_that_kubernetes_takes_is_taken(schedule: str) -> None:
    assert cron.problem(schedule) is None


@pytest.mark.parametrize(
    ("schedule", "said"),
    [
        ("0 5 * * *", "cron(0 5 * * ? *)"),
        ("@weekly", "cron(0 0 ? * 1 *)"),
        ("0 5 * * mon-fri", "cron(0 5 ? * 2,3,4,5,6 *)"),
        ("30 2 1,15 jan ?", "cron(30 2 1,15 JAN ? *)"),
    ],
)
def test_aws_spells_a_schedule_its_own_way(schedule: str, said: str) -> None:
    assert cron.for_aws(schedule) == said


@pytest.mark.parametrize(
    ("wrong", "line"),
    [
        ({"keep": 0}, "keep: invalid value 0; use 1 or more"),
        ({"expire": "0d"}, "expire: invalid value '0d'; use an age in hours, days or weeks, such as 36h, 30d or 8w"),
        ({"expire": "30"}, "expire: invalid value '30'; use an age in hours, days or weeks, such as 36h, 30d or 8w"),
    ],
)
def test_a_retention_that_keeps_nothing_is_refused(wrong: dict[str, Any], line: str) -> None:
    assert lines(models={"backend": FILES, "snapshots": {**HOURLY, **wrong}}) == [f"models.snapshots.{line}"]


def test_a_volume_begins_as_one_thing() -> None:
    for origin, got in (({}, "empty map"), ({"volume": "other", "snapshot": "s"}, "volume and snapshot are set")):
        assert lines(models={"backend": FILES, "from": origin}, other={"backend": FILES}) == [
            f"models.from: {got}; use exactly one of snapshot, volume, mirror and mirrorOf"
        ]


def test_the_origin_of_a_volume_is_another_one_with_the_same_backend_that_fits() -> None:
    other = {**FILES, "driver": "disks.csi.example"}
    assert lines(models={"backend": FILES, "from": {"volume": "models"}}) == [
        "models.from.volume: volume models cannot be a clone of itself; choose another volume"
    ]
    assert lines(models={"backend": FILES, "from": {"volume": "modles"}}) == [
        "models.from.volume: no volume is named 'modles'; choose one of models (did you mean models?), or "
        "remove `from` if volume models already exists (its data stays)"
    ]
    assert lines(copy={"backend": other, "from": {"volume": "models"}}, models={"backend": FILES}) == [
        "copy.backend: volume models has another backend, but a CSI driver clones only its own volumes; use the "
        "same, or "
        "remove `from` if volume copy already exists (its data stays)"
    ]
    assert lines(copy={"backend": FILES, "from": {"volume": "models"}, "sizeGib": 9}, models={"backend": FILES}) == [
        "copy.sizeGib: 9 is less than volume models, which it copies; set 10 or more, or "
        "remove `from` if volume copy already exists (its data stays)"
    ]
    assert lines(copy={"backend": other, "sizeGib": 9}, models={"backend": FILES}) == []


def test_volumes_that_begin_as_each_other_are_refused() -> None:
    found = lines(one={"backend": FILES, "from": {"volume": "two"}}, two={"backend": FILES, "from": {"volume": "one"}})
    assert found == [
        "one.from.volume: volume two is itself a clone of this volume; choose another volume for one of them; also "
        "affects volumes.two.from.volume",
    ]


def test_a_volume_with_snapshots_leaves_room_in_the_name_of_its_schedule() -> None:
    asked = {"backend": FILES, "snapshots": HOURLY}
    (line,) = lines(**{"n" * 43: asked})
    assert line == f"{'n' * 43}: the name has 43 characters; shorten it to 42, the limit with scheduled snapshots"
    assert lines(**{"n" * 42: asked}) == []


def test_the_settings_are_those_of_the_model() -> None:
    tree = {"cluster": EXISTING, "volumes": {"models": {"sizeGib": 1, "backend": FILES, "snapshots": HOURLY}}}
    args = stack.load(Settings(tree)).config.volumes["models"]
    assert args.snapshots is not None
    assert args.snapshots.expire_seconds is None
    assert args.snapshots.model_copy(update={"expire": "36h"}).expire_seconds == 36 * 3600
