"""The blocks of settings in the documentation, each as the stack of a reader who adds it to the dev stack."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.documented import blocks, texts
from tests.support.rendering import PROJECT, settings_of

_PROGRAM = "examples/digits/train.py"


@dataclass(frozen=True)
class Snippet:
    """A block of settings."""

    name: str
    """Its page, and its number among all."""
    content: str
    is_fragment: bool
    """Whether it names files that only a reader has: ```yaml fragment."""

    def __str__(self) -> str:
        return self.name

    def tree(self, folder: Path) -> dict[str, Any]:
        """The settings of the whole stack. `folder`: for a temporary file."""
        written = folder / "Pulumi.snippet.yaml"
        written.write_text(self.content)
        tree = settings_of(written).tree
        for workload in tree["workloads"].values() if self.is_fragment else ():
            # The reader's own.
            if "script" in workload:
                workload["script"] = _PROGRAM
            if "files" in workload:
                workload["files"] = dict.fromkeys(workload["files"], _PROGRAM)
        # A workload stack stands beside the dev stack.
        return dict(tree) if "platform" in tree else overlaid(settings_of(PROJECT / "Pulumi.dev.yaml").tree, tree)


def snippets() -> list[Snippet]:
    """All of them."""
    found: list[Snippet] = []
    for path, text in texts().items():
        for block in blocks(text):
            # What is meant for kubectl is tried where it is meant to run.
            if block.language.startswith("yaml") and not block.text.startswith("apiVersion:"):
                found.append(Snippet(f"{path.stem}-{len(found)}", block.text, block.language == "yaml fragment"))
    return found


def overlaid(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """One tree of settings over another, as a reader would write them into one file."""
    merged = dict(below)
    for key, value in above.items():
        under = merged.get(key)
        merged[key] = overlaid(under, value) if isinstance(under, Mapping) and isinstance(value, Mapping) else value
    return merged
