"""Container images: from registries that are allowed, and the same bytes each time."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fnmatch import fnmatchcase

from gpu_usage.manifest import UNKNOWN
from stack_view import pods
from stack_view.rule import Config, Finding, Level, Rule, Severity, of_each
from stack_view.schemas import strings
from stack_view.view import Resource, View, at

_DIGEST = re.compile(r"[^@]+@sha256:[0-9a-f]{64}")
# Tags that publishers move.
_MOVING = re.compile(r"(latest|stable|nightly|edge|main|master|dev|v?\d+)([-_.][a-z].*)?")


def _images(resource: Resource) -> Iterator[tuple[str, str]]:
    """The images of the containers, with their path. One that only the update knows was just built."""
    for pod in pods.of(resource):
        for path, one in pod.containers():
            image = at(one, "image")
            if image is not UNKNOWN:
                yield path, str(image or "")


def full_name(image: str) -> str:
    """An image's name with its registry, without tag and digest: Docker Hub's `x` is docker.io/library/x."""
    name = image.partition("@")[0]
    folder, _, last = name.rpartition("/")
    name = f"{folder}/{last.partition(':')[0]}" if folder else last.partition(":")[0]
    host, slash, _ = name.partition("/")
    if not slash:
        return f"docker.io/library/{name}"
    return name if {".", ":"} & set(host) or host == "localhost" else f"docker.io/{name}"


def tag(image: str) -> str:
    """An image's tag; empty without one."""
    return image.partition("@")[0].rpartition("/")[2].partition(":")[2]


def _moving(resource: Resource, view: View, config: Config) -> Iterator[Finding]:
    for path, image in _images(resource):
        if not _DIGEST.fullmatch(image) and (not tag(image) or _MOVING.fullmatch(tag(image))):
            found = tag(image) or "no tag, which means latest"
            problem = f"`{path}.image` {image} may be another image tomorrow (tag: {found})"
            yield Finding(problem, "give the tag of one release, or a digest: NAME@sha256:…")


def _digests(resource: Resource, view: View, config: Config) -> Iterator[Finding]:
    for path, image in _images(resource):
        trusted = any(fnmatchcase(full_name(image), each) for each in config["tagsOf"])
        if not (trusted or _DIGEST.fullmatch(image)):
            # Without the image's name, which may be a part of an encrypted setting: the engine hides the whole alone.
            trust = "trust its tags: add its full name, as docker.io/library/python, to `tagsOf`"
            remedy = f"add its digest (NAME@sha256:…), or {trust}"
            yield Finding(f"`{path}.image` {image} has no digest", f"{remedy} in {view.config}")


def _registries(resource: Resource, view: View, config: Config) -> Iterator[Finding]:
    for path, image in _images(resource):
        if config["allowed"] and not any(fnmatchcase(full_name(image), each) for each in config["allowed"]):
            problem = f"`{path}.image` is {full_name(image)}; allowed are {', '.join(config['allowed'])}"
            yield Finding(problem, f"push it to one of them, or add it to `allowed` in {view.config}")


POLICIES = [
    Rule(
        of_each(_moving),
        name="image-tags",
        description="Every image has a digest or the tag of one release.",
        remedy="Give a version's tag or a digest.",
        severity=Severity.MEDIUM,
        tags=["images", "supply-chain"],
    ),
    Rule(
        of_each(_digests),
        name="image-digests",
        description="Every image has a digest, except those whose tags are trusted (`tagsOf`).",
        remedy="Add the digest: NAME@sha256:….",
        severity=Severity.MEDIUM,
        tags=["images", "supply-chain"],
        # By default those that tensorplane itself runs, and those of the embedded cluster's own registry.
        config={"tagsOf": strings("docker.io/library/python", "docker.io/tensorflow/*", "tensorplane.local/*")},
        level=Level.ADVISORY,
    ),
    Rule(
        of_each(_registries),
        name="image-registries",
        description="Images come from the registries in `allowed`, such as docker.io/tensorflow/*; empty allows all.",
        remedy="Push the image to an allowed registry.",
        severity=Severity.HIGH,
        tags=["images", "supply-chain"],
        config={"allowed": strings()},
    ),
]
