"""What a line suggests: where a setting belongs, the number without its unit, a list, and only what is valid."""

from __future__ import annotations

import copy
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import annotated_types
import pytest

from tensorplane.components.base.model import Model
from tensorplane.components.base.type_hints import options
from tests.mutants import sketches
from tests.mutants.fresh import BASES
from tests.mutants.places import At, Tree, dotted, drop, put, rename, value_at
from tests.support import counts
from tests.support.problems import dev, problems_of
from tests.support.problems import put as put_path
from tests.support.rendering import settings_of

EACH = counts.of(quick=8, nightly=1000)
_UNITS = {"Milliseconds": "ms", "Seconds": "s", "Minutes": "min", "Hours": "h", "Days": "d", "Gib": "Gi"}
_EVERYWHERE = ("kind", "name", "path", "volume")
"""Keys of so many maps that a line names none of them."""
_OPEN = ("low", "high", "step")
"""Numbers of the user's own program."""


def _drawn(base: Path, fitting: Any) -> Iterator[tuple[Tree, At]]:
    """Copies of a stack's settings with places of given settings that fit."""
    tree = settings_of(base).tree
    found = [at for at in sketches.given(tree) if fitting(at, value_at(tree, at))]
    for at in random.Random(f"{base.stem}:{counts.seed()}").sample(found, min(EACH, len(found))):
        yield copy.deepcopy(tree), at


def _is_deep(at: At, _: object) -> bool:
    return len(at) > 2 and all(isinstance(key, str) for key in at[-3:]) and at[-1] not in _EVERYWHERE


@pytest.mark.counted
def test_a_setting_one_level_too_high_is_told_where_it_belongs() -> None:
    told, wrong = 0, []
    for base in BASES:
        for tree, at in _drawn(base, _is_deep):
            *around, inner, key = at
            if key in value_at(tree, tuple(around)):
                continue
            put(tree, (*around, key), drop(tree, at))
            start = f"tensorplane:{dotted((*around, key))}: unknown setting; "
            unknown = [line for line in problems_of(tree) if line.startswith(start)]
            told += bool(unknown)
            # Two settings of similar names, `snapshot` and `snapshots`, may both be meant.
            similar = re.compile(rf"did you mean {str(key)[:5]}\w+\?")
            elsewhere = [line for line in unknown if f"{inner}.{key}" not in line and not similar.search(line)]
            wrong += [f"{base.name} {dotted(at)}: {line}" for line in elsewhere]
    assert wrong == []
    assert told > len(BASES) / 2


def _number_with_a_unit(at: At, value: object) -> bool:
    return type(value) in (int, float) and any(str(at[-1]).endswith(end) for end in _UNITS)


@pytest.mark.counted
def test_a_number_with_its_unit_is_suggested_without_it() -> None:
    told, wrong = 0, []
    for base in BASES:
        for tree, at in _drawn(base, _number_with_a_unit):
            value = value_at(tree, at)
            unit = next(unit for end, unit in _UNITS.items() if str(at[-1]).endswith(end))
            put(tree, at, f"{value}{random.Random(str(at)).choice(['', ' '])}{unit}")
            lines = [line for line in problems_of(tree) if line.startswith(f"tensorplane:{dotted(at)}: ")]
            if "platform" in tree:
                continue
            (line,) = lines
            told += 1
            if not line.endswith(f" (did you mean {value:.12g}?)"):
                wrong.append(f"{base.name}: {line}")
    assert wrong == []
    assert told > len(BASES)


@pytest.mark.parametrize(
    ("path", "value", "near"),
    [
        ("workloads/digits/deadlineSeconds", "2h", "7200"),
        ("workloads/digits/graceSeconds", "1 minute", "60"),
        ("teams/vision/budget", {"gpuHours": "2 weeks"}, "336"),
        ("workloads/digits-server/scaling", {"max": 2, "cpu": "70%"}, "70"),
        ("workloads/digits/resources/cpus", "40%", "0.4"),
        ("volumes/models/snapshots", {"schedule": "0 * * * *", "expire": "1 week"}, "1w"),
        ("volumes/models/snapshots", {"schedule": "0 * * * *", "expire": "1y"}, "365d"),
        ("workloads/digits/command", "python3 train.py", "[python3, train.py]"),
        ("volumes/models/accessModes", "ReadWriteMany", "[ReadWriteMany]"),
        ("volumes/models", "sizeGib:2", "{sizeGib: 2}"),
        ("queues/training/gpus", "any=1", "{any: 1}"),
        ("workloads/digits/deadlineSeconds", "1h30m", "5400"),
        ("workloads/digits/egress", [{"cidr": "10.0.0.0/8", "ports": 443}], "[443]"),
        ("teams/vision/budget", 1000, "{gpuHours: …}"),
        ("volumes/models/placement", "us-west-2a", "{zones: […]}"),
        ("volumes/models/snapshots", "0 3 * * *", "{schedule: …}"),
        ("workloads/digits-server/page", True, "{}"),
        ("volumes/models/backend", {"kind": "nfs", "server": "a", "folder": "/a", "version": 4.1}, '"4.1"'),
        ("workloads/digits/egress", {"cidr": "10.0.0.0/8"}, "[{cidr: …}]"),
    ],
)
def test_the_nearest_valid_value_is_suggested(path: str, value: Any, near: str) -> None:
    tree = dev()
    put_path(tree, path, value)
    assert [line for line in problems_of(tree) if line.endswith(f" (did you mean {near}?)")]


@pytest.mark.parametrize(
    ("path", "value", "line"),
    [
        ("workloads/digits/deadlineSeconds", "2 pods", "use a whole number"),
        ("workloads/digits/strategy/workers", "50%", "use a whole number"),
        ("volumes/models/sizeGib", "50%", "use a number"),
        ("workloads/digits/args", "--steps 600", "use a list"),
        ("namespace", "n" * 64, "at most 63 characters"),
        ("namespace", "данные", "at most 63 characters"),
    ],
)
def test_what_is_unclear_suggests_nothing(path: str, value: Any, line: str) -> None:
    tree = dev()
    put_path(tree, path, value)
    assert any(found.endswith(line) for found in problems_of(tree))


@pytest.mark.parametrize("host", ["https://shapes.example.org/v1", "Shapes.Example.org", "shapes.example.org:443"])
def test_a_host_is_suggested_only_as_a_valid_one(host: str) -> None:
    tree = dev()
    put_path(tree, "workloads/digits-server/expose", {"kind": "gateway", "name": "a", "hosts": [host, "*"]})
    first, second = [line for line in problems_of(tree) if ".hosts." in line]
    assert first.endswith("(did you mean shapes.example.org?)")
    assert second.endswith("such as digits.example.org")


@pytest.mark.parametrize("name", ["mоdels", "mοdels", "Models", "módels"])  # noqa: RUF001
def test_a_name_with_letters_that_look_the_same_is_one_line_with_the_right_one(name: str) -> None:
    tree = dev()
    rename(tree, ("workloads", "digits", "volumes", "models"), name)
    (line,) = problems_of(tree)
    assert line.endswith("(did you mean models?)")


def test_a_name_that_is_too_long_is_one_line() -> None:
    tree = dev()
    tree["queues"]["q" * 64] = tree["queues"]["training"]
    (line,) = problems_of(tree)
    assert line.endswith("at most 63 characters")


def test_quotas_beyond_the_nodes_never_suggest_what_is_still_too_much() -> None:
    tree = copy.deepcopy(settings_of(next(base for base in BASES if base.name == "Pulumi.prod.yaml")).tree)
    tree["nodeGroups"]["cpu"] |= {"min": 1, "max": 1, "expected": 1}
    for line in problems_of(tree):
        assert not re.search(r"set 0 or less", line)


def _models(model: type[Model] = Model) -> Iterator[type[Model]]:
    for each in model.__subclasses__():
        yield each
        yield from _models(each)


def test_every_number_has_an_upper_limit() -> None:
    """Without one, a number in another unit is accepted, and the cluster refuses it or cannot keep it."""
    endless = []
    for model in [each for each in _models() if not each.__module__.startswith("tests.")]:
        for name, field in model.model_fields.items():
            upper = any(isinstance(one, annotated_types.Le | annotated_types.Lt) for one in field.metadata)
            upper = upper or re.search(r"\b(Le|Lt)\(|\b(le|lt)=", f"{field.annotation}") is not None
            if not upper and {int, float} & {*options(field.annotation)} and name not in _OPEN:
                endless.append(f"{model.__name__}.{field.alias or name}")
    assert endless == []
