"""Datasets that are read in another folder than before, or no longer declared. No resource changes with them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tensorplane.cli.commands.preview.report import OURS, Outputs, Report
from tensorplane.cli.output.texts import bold
from tensorplane.components.base import outputs

Folder = tuple[str, str]
"""Volume, and folder on it."""


def lines(report: Report) -> list[str]:
    """A line for each, with the names in bold."""
    moved = [f"dataset {bold(name)} is in {_bold(*new)} instead of {_bold(*old)}" for name, old, new in _moved(report)]
    gone = [
        f"dataset {bold(name)} is no longer declared; its files stay in {_bold(*old)}" for name, old in _gone(report)
    ]
    return [*moved, *gone]


def lost(report: Report) -> Iterator[str]:
    """A line for each whose versions are left behind."""
    for name, old, new in _moved(report):
        yield (
            f"dataset {name}: its versions stay in {_plain(*old)}; copy that folder to {_plain(*new)} first, or readers"
            " find no version and pipelines process every input again"
        )


def _moved(report: Report) -> Iterator[tuple[str, Folder, Folder]]:
    before, after = _folders(report)
    for name, old in before.items():
        if (new := after.get(name)) and new != old:
            yield name, old, new


def _gone(report: Report) -> Iterator[tuple[str, Folder]]:
    """Those whose volume stays; what happens to others is said of their volume."""
    before, after = _folders(report)
    volumes = report.registered(outputs.VOLUME.removeprefix(OURS))
    for name, old in before.items():
        if name not in after and volumes[old[0]][1]:
            yield name, old


def _folders(report: Report) -> tuple[Mapping[str, Folder], Mapping[str, Folder]]:
    """Where datasets are before and after the update, by name."""
    volumes = report.registered(outputs.VOLUME.removeprefix(OURS))
    before, after = ({name: sides[index] for name, sides in volumes.items()} for index in range(2))
    return _on(before), _on(after)


def _on(volumes: Mapping[str, Outputs]) -> dict[str, Folder]:
    return {
        dataset: (volume, str(folder))
        for volume, registered in volumes.items()
        for dataset, folder in sorted((registered.get("datasets") or {}).items())
    }


def _bold(volume: str, folder: str) -> str:
    return f"{bold(folder)} of volume {bold(volume)}"


def _plain(volume: str, folder: str) -> str:
    return f"{folder} of volume {volume}"
