"""Datasets that are read elsewhere than before."""

from __future__ import annotations

from tensorplane.cli.commands.preview import dataset_folders
from tensorplane.cli.commands.preview.report import Outputs, Report
from tensorplane.cli.output.escaping import line as shown

VOLUME = "tensorplane:index:Volume"
SIZE = {"sizeGib": 1}


def _report(**volumes: tuple[Outputs, Outputs]) -> Report:
    return Report("prod", components={VOLUME: volumes})


def _has(**datasets: str) -> Outputs:
    return {**SIZE, "datasets": datasets}


def test_another_folder_leaves_the_versions_behind() -> None:
    report = _report(data=(_has(digits="datasets/digits", words="words"), _has(digits="images", words="words")))
    assert list(map(shown, dataset_folders.lines(report))) == [
        "dataset **digits** is in **images** of volume **data** instead of **datasets/digits** of volume **data**"
    ]
    assert list(dataset_folders.lost(report)) == [
        "dataset digits: its versions stay in datasets/digits of volume data; copy that folder to images of volume data"
        " first, or readers find no version and pipelines process every input again"
    ]


def test_another_volume_does_too() -> None:
    report = _report(old=(_has(digits="datasets/digits"), SIZE), new=(SIZE, _has(digits="datasets/digits")))
    (line,) = map(shown, dataset_folders.lines(report))
    assert line.endswith("in **datasets/digits** of volume **new** instead of **datasets/digits** of volume **old**")
    assert len(list(dataset_folders.lost(report))) == 1


def test_a_dataset_that_is_no_longer_declared_keeps_its_files() -> None:
    report = _report(data=(_has(digits="datasets/digits"), SIZE))
    says = "dataset **digits** is no longer declared; its files stay in **datasets/digits** of volume **data**"
    assert list(map(shown, dataset_folders.lines(report))) == [says]
    assert list(dataset_folders.lost(report)) == []


def test_nothing_is_said_of_datasets_that_come_stay_or_go_with_their_volume() -> None:
    report = _report(
        a=(_has(digits="digits"), _has(digits="digits")),
        b=({}, _has(new="new")),
        c=(_has(gone="gone"), {}),
        d=(SIZE, {}),
    )
    assert dataset_folders.lines(report) == []
    assert list(dataset_folders.lost(report)) == []
