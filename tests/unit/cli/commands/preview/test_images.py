"""Images in words: one of another registry or repository is first, whatever the number of others."""

from __future__ import annotations

import random
from typing import Any

import pytest

from tensorplane.cli.commands.preview import render
from tensorplane.cli.commands.preview.head import LIMIT
from tensorplane.cli.commands.preview.report import Change, Property, Report
from tensorplane.cli.commands.preview.section import SEPARATOR
from tensorplane.cli.commands.preview.sections import in_words
from tensorplane.cli.output.escaping import line as shown
from tests.hosts.preview_events import SECRET, UNKNOWN_TEXT

MANY = 1000
POD = "spec.template.spec"
TRAIN = "registry.example/train-gpu"
Images = list[tuple[Any, Any]]


def _report(images: Images, kind: str = "TrainingJob") -> Report:
    found = {f"job-{number:03}": ({"image": old}, {"image": new}) for number, (old, new) in enumerate(images)}
    return Report("dev", components={f"tensorplane:index:{kind}": found})


def _lines(images: Images, kind: str = "TrainingJob") -> list[str]:
    return list(map(shown, in_words.lines(_report(images, kind))))


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        (f"{TRAIN}:1", f"{TRAIN}:2", f"image tag 1 → 2, {TRAIN}"),
        (TRAIN, f"{TRAIN}:2", f"image tag latest → 2, {TRAIN}"),
        (f"{TRAIN}@sha256:{'1' * 64}", f"{TRAIN}@sha256:{'2' * 64}",
         f"image digest sha256:{'1' * 12}… → sha256:{'2' * 12}…, {TRAIN}"),
        (f"{TRAIN}@sha256:{'1' * 64}", f"{TRAIN}:2",
         f"image, no longer by its digest: sha256:{'1' * 12}… → 2, {TRAIN}"),
        (f"{TRAIN}:1", "registry.example.b/train-gpu:1",
         f"**image from another registry**: {TRAIN}:1 → registry.example.b/train-gpu:1"),
        ("train", "localhost:5000/train", "**image from another registry**: train → localhost:5000/train"),
        ("train:1", "docker.io/library/train:2", "image tag 1 → 2, docker.io/library/train"),
        ("a/train:1", "b/train:1", "**image from another repository**: a/train:1 → b/train:1"),
        ("a", SECRET, "image a → `[secret]`"),
        ("a", UNKNOWN_TEXT, "image a → (known after the update)"),
        (None, f"{TRAIN}:2", f"image none → {TRAIN}:2"),
    ],
)  # fmt: skip
def test_an_image_is_said_by_what_differs(old: Any, new: Any, says: str) -> None:
    assert _lines([(old, new)]) == [f"training job **job-000**: {says}"]


def test_equal_tags_of_many_are_a_line_with_the_tags_and_others_one_with_their_range() -> None:
    named = "**job-000, job-001, job-002 and 37 more**"
    equal: Images = [(f"{TRAIN}:1", f"{TRAIN}:2")] * 40
    assert _lines(equal) == [f"image tag of 40 training jobs 1 → 2, {TRAIN}: {named}"]
    differ: Images = [(f"{TRAIN}:1", f"{TRAIN}:2-{number}") for number in range(40)]
    assert _lines(differ) == [f"image tag of 40 training jobs 1 → 40 tags from 2-0 to 2-39, {TRAIN}: {named}"]


def test_the_odd_tag_among_equal_ones_is_a_line_and_first() -> None:
    images: Images = [(f"{TRAIN}:1", f"{TRAIN}:{'2-dev' if number == 7 else '2'}") for number in range(40)]
    assert _lines(images)[0] == f"training job **job-007**: image tag 1 → 2-dev, {TRAIN}"


def test_different_tags_to_one_are_a_line_with_all_of_them() -> None:
    images: Images = [(f"{TRAIN}:1.{number % 2 + 2}", f"{TRAIN}:1.4") for number in range(40)]
    named = "**job-000, job-001, job-002 and 37 more**"
    assert _lines(images) == [f"image tag of 40 training jobs 1.2, 1.3 → 1.4, {TRAIN}: {named}"]


@pytest.mark.parametrize(
    ("odd", "says"),
    [
        ("2.19.1-7", "**older image tag** 2.21.0 → 2.19.1-7"),
        ("latest", "image tag 2.21.0 → latest"),
        ("2.22.0-rc1", "image tag 2.21.0 → 2.22.0-rc1"),
    ],
)
def test_an_older_tag_or_one_of_another_form_is_not_within_the_range_of_others(odd: str, says: str) -> None:
    tags = [odd if number == 7 else f"2.21.{number % 7 + 1}-{number}" for number in range(40)]
    first, second = _lines([(f"{TRAIN}:2.21.0", f"{TRAIN}:{tag}") for tag in tags])
    assert first == f"training job **job-007**: {says}, {TRAIN}"
    assert second.startswith("image tag of 39 training jobs 2.21.0 → 39 tags from 2.21.1-0 to 2.21.7-34, ")


def test_tags_of_commits_are_of_one_form() -> None:
    tags = [f"main-{number:x}{'a1b2c3d4e5'[: 9 - len(f'{number:x}')]}" for number in range(40)]
    (line,) = _lines([(f"{TRAIN}:main-0a1b2c3d", f"{TRAIN}:{tag}") for tag in tags])
    assert line.startswith("image tag of 40 training jobs main-0a1b2c3d → 40 tags from main-")


def test_one_of_another_repository_is_apart_from_many_that_only_change_their_registry() -> None:
    images: Images = [(f"a.example/{n}:1", f"b.example/{'other' if n == 3 else n}:1") for n in range(40)]
    first, second = _lines(images)
    assert first == "training job **job-003**: **image from another registry**: a.example/3:1 → b.example/other:1"
    assert second.startswith("**image of 39 training jobs from another registry**: a.example → b.example: ")


def test_an_image_of_no_component_from_another_registry_is_said_too() -> None:
    moved = Property(f"{POD}.initContainers[0].image", '"python:3"', '"x.example/python:3"', replaces=False)
    same = Property(f"{POD}.containers[0].image", '"a/python:3"', '"a/python:4"', replaces=False)
    hidden = Property(f"{POD}.containers[1].image", '"[secret]"', '"[secret]"', replaces=False)
    report = Report("dev", changes=(Change("update", "apps/v1:Deployment", "usage", (moved, same, hidden)),))
    assert list(map(shown, in_words.lines(report))) == [
        "Deployment **usage**: **image from another registry**: python:3 → x.example/python:3"
    ]


def test_a_new_image_of_a_registry_that_nothing_used_is_said_and_others_are_not() -> None:
    jobs = {
        "old": ({"image": f"{TRAIN}:1"}, {"image": f"{TRAIN}:1"}),
        "like": ({}, {"image": f"{TRAIN}:2"}),
        "miner": ({}, {"image": "x.example/miner:1"}),
    }
    says = "training job **miner**: **image from a registry that nothing here used**: x.example/miner:1"
    report = Report("dev", components={"tensorplane:index:TrainingJob": jobs})
    assert list(map(shown, in_words.lines(report))) == [says, "new training job **like**", "new training job **miner**"]
    new = Report("dev", components={"tensorplane:index:TrainingJob": {"miner": jobs["miner"]}})
    assert list(map(shown, in_words.lines(new))) == ["new training job **miner**"], "everything of a new stack is new"


def test_images_of_a_pipelines_stages_are_compared_by_repository() -> None:
    sides = ({"images": ["a/clean:1", "a/train:1"]}, {"images": ["a/train:2", "x.example/clean:1"]})
    report = Report("dev", components={"tensorplane:index:Pipeline": {"nightly": sides}})
    assert list(map(shown, in_words.lines(report))) == [
        "pipeline **nightly**: **image from another registry**: a/clean:1 → x.example/clean:1",
        "pipeline **nightly**: image tag 1 → 2, docker.io/a/train",
    ]


def test_many_images_of_another_registry_are_one_line() -> None:
    images: Images = [(f"a.example/{number}:1", f"b.example/{number}:1") for number in range(40)]
    (line,) = _lines(images)
    assert line.startswith("**image of 40 training jobs from another registry**: a.example → b.example: **job-000, ")


@pytest.mark.parametrize("kind", ["TrainingJob", "ModelServer", "Notebook"])
def test_the_one_of_another_registry_among_a_thousand_is_first_at_every_position(kind: str) -> None:
    draw = random.Random(41)
    for odd in (0, MANY - 1, *draw.sample(range(MANY), 8)):
        images: Images = [(f"{TRAIN}:1", f"{TRAIN}:{draw.choice(['2', number])}") for number in range(MANY)]
        images[odd] = (f"{TRAIN}:1", "registry.example.attacker.test/train-gpu:2")
        head = render.markdown(_report(images, kind)).partition(SEPARATOR)[0]
        assert len(head.encode()) <= LIMIT
        first = head.partition("## What changes")[2].strip().splitlines()[0]
        assert (
            f"**job-{odd:03}**: **image from another registry**: {TRAIN}:1 → registry.example.attacker.test/" in first
        )
