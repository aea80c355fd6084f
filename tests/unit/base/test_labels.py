"""Selectors, which Kubernetes never lets change, do not follow the labels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tensorplane import stack
from tensorplane.components.base import labels
from tensorplane.components.base.settings import Settings
from tensorplane.stack_file import StackFile
from tests.support.rendering import PROJECT, Rendered, run, settings_of

NEW = "tensorplane.dev/new-in-a-later-version"
STREAM = StackFile(
    config={
        "tensorplane:cluster": {"kind": "embedded"},
        "tensorplane:volumes": {"events": {"sizeGib": 1}},
        "tensorplane:streams": {"events": {"volume": "events", "topics": {"clicks": {}}}},
    }
)
STACKS = [PROJECT / "Pulumi.dev.yaml", PROJECT / "examples/pipeline.yaml", PROJECT / "examples/canary.yaml", None]
"""Agents of every kind, a page of models, servers, the embedded broker (None)."""


def _built(path: Path | None) -> Rendered:
    settings = settings_of(path) if path else Settings.of_file(STREAM)
    return run(lambda: stack.build(stack.load(settings, PROJECT)))


def _selected(found: Rendered) -> dict[str, Any]:
    """The immutable selectors, and those of Services, which must find the pods that run."""
    kept = [*found.all("Deployment"), *found.all("StatefulSet"), *found.all("Service")]
    return {f"{one.type} {one.name}": one.inputs["spec"].get("selector") for one in kept}


@pytest.mark.parametrize("path", STACKS, ids=lambda path: path.stem if path else "stream")
def test_a_new_label_of_every_object_changes_no_selector(path: Path | None, monkeypatch: pytest.MonkeyPatch) -> None:
    before = _selected(_built(path))
    monkeypatch.setitem(labels.TENSORPLANE, NEW, "yes")
    after = _built(path)
    assert _selected(after) == before
    assert len(before) > 1
    for one in [*after.all("Deployment"), *after.all("StatefulSet")]:
        pods = one.inputs["spec"]["template"]["metadata"]["labels"]
        assert pods.items() >= one.inputs["spec"]["selector"]["matchLabels"].items()
        assert pods[NEW] == one.inputs["metadata"]["labels"][NEW] == "yes"


def test_selectors_are_those_of_what_is_deployed() -> None:
    assert labels.selector("queue.usage", "usage") == {
        "app.kubernetes.io/name": "queue.usage",
        "app.kubernetes.io/component": "usage",
        "app.kubernetes.io/part-of": "tensorplane",
        "app.kubernetes.io/managed-by": "pulumi",
    }, "deployed selectors are immutable: never change these"
