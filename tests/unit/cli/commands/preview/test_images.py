"""Images in words: one of another registry or repository is first, whatever the number of others."""

from __future__ import annotations

import random
from typing import Any

import pytest

from cli.commands.preview import render
from cli.commands.preview.head import LIMIT
from cli.commands.preview.report import Report
from cli.commands.preview.section import CUT
from cli.commands.preview.sections import in_words
from cli.output.escaping import line as shown
from tests.hosts.preview_events import SECRET, UNKNOWN_TEXT

MANY = 1000
TRAIN = "registry.example/train-gpu"
Images = list[tuple[Any, Any]]


def _report(images: Images, kind: str = "TrainingJob") -> Report:
    found = {f"job-{number:03}": ({"image": old}, {"image": new}) for number, (old, new) in enumerate(images)}
    return Report("dev", components={f"tensorplane:index:{kind}": found})


def _said(images: Images, kind: str = "TrainingJob") -> list[str]:
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
    assert _said([(old, new)]) == [f"training job **job-000**: {says}"]


def test_equal_tags_of_many_are_a_line_with_the_tags_and_others_one_without() -> None:
    named = "**job-000, job-001, job-002 and 37 more**"
    equal: Images = [(f"{TRAIN}:1", f"{TRAIN}:2")] * 40
    assert _said(equal) == [f"image tag of 40 training jobs 1 → 2, {TRAIN}: {named}"]
    differ: Images = [(f"{TRAIN}:1", f"{TRAIN}:2-{number}") for number in range(40)]
    assert _said(differ) == [f"image tag of 40 training jobs, {TRAIN}: {named}"]


def test_the_odd_tag_among_equal_ones_is_a_line_and_first() -> None:
    images: Images = [(f"{TRAIN}:1", f"{TRAIN}:{'0-dev' if number == 7 else '2'}") for number in range(40)]
    assert _said(images)[0] == f"training job **job-007**: image tag 1 → 0-dev, {TRAIN}"


def test_many_images_of_another_registry_are_one_line() -> None:
    images: Images = [(f"a.example/{number}:1", f"b.example/{number}:1") for number in range(40)]
    (line,) = _said(images)
    assert line.startswith("**image of 40 training jobs from another registry**: a.example → b.example: **job-000, ")


@pytest.mark.parametrize("kind", ["TrainingJob", "ModelServer", "Notebook"])
def test_the_one_of_another_registry_among_a_thousand_is_first_at_every_position(kind: str) -> None:
    draw = random.Random(41)
    for odd in (0, MANY - 1, *draw.sample(range(MANY), 8)):
        images: Images = [(f"{TRAIN}:1", f"{TRAIN}:{draw.choice(['2', number])}") for number in range(MANY)]
        images[odd] = (f"{TRAIN}:1", "registry.example.attacker.test/train-gpu:2")
        head = render.markdown(_report(images, kind)).partition(CUT)[0]
        assert len(head.encode()) <= LIMIT
        first = head.partition("## What changes")[2].strip().splitlines()[0]
        assert (
            f"**job-{odd:03}**: **image from another registry**: {TRAIN}:1 → registry.example.attacker.test/" in first
        )
