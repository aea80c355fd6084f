"""`tensorplane data` on a volume of a real cluster: in pods that may only write to it, and read by another pod."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.console import Console

from tensorplane import stack
from tensorplane.cli.commands.cp.paths import VolumePath
from tensorplane.cli.commands.data import history, remote, transfer
from tensorplane.cli.commands.data.remote import DatasetOptions
from tensorplane.components.base.settings import Settings
from tensorplane.core.errors import UserError
from tensorplane.stack import ResolvedStack, StackConfig
from tests.storage.claims import Claims
from tests.storage.declared import Declared

pytestmark = pytest.mark.nightly("pods of the Python image; told by tests/unit/cli/commands/test_data")

_SETTINGS = {
    "cluster": {"kind": "embedded"},
    "volumes": {"versioned": {"sizeGib": 0.125}, "prefix": {"sizeGib": 0.0625}},
    "datasets": {"photos": {"volume": "versioned"}, "copies": {"volume": "versioned"}},
}
_FILES = 30
_ABOUT = {"branch": "main", "author": "ann", "at": "", "add": False}


@pytest.fixture(scope="module")
def cluster(claims: Claims, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Claims]:
    Declared(claims, tmp_path_factory.mktemp("declared"), "datasets").load_images()
    claims.claim("versioned", "ReadWriteMany", mib=128)
    claims.claim("prefix", "ReadWriteMany")
    yield claims


def _options(reference: str = "", dataset: str = "photos") -> DatasetOptions:
    return DatasetOptions(dataset, reference, "dev", "", "default")


@pytest.fixture
def resolved(monkeypatch: pytest.MonkeyPatch) -> ResolvedStack:
    """A stack whose claims are the tests', in their namespace."""
    loaded = stack.load(Settings(_SETTINGS))
    monkeypatch.setattr(StackConfig, "namespace_name", "default")
    return loaded


def test_versions_of_a_folder_on_a_volume(
    cluster: Claims, resolved: ResolvedStack, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, options = tmp_path / "photos", _options()
    source.mkdir()
    for number in range(_FILES):
        (source / f"{number}").write_text(f"photo {number}")
    with remote.running(
        cluster.kube, resolved, options, remote.declared(resolved, "photos"), read_only=False
    ) as dataset:
        transfer.commit(dataset, options, source, {**_ABOUT, "message": "first"}, Console())
        (source / "7").write_text("another")
        transfer.commit(dataset, options, source, {**_ABOUT, "message": "second"}, Console())
        said = capsys.readouterr().out
        assert f"{_FILES} files: {_FILES} added" in said
        assert f"{_FILES} files: 0 added, 1 changed, 0 removed; 7 B sent" in said
        assert dataset.ask("branch", {"name": "kept", "reference": "main~1"})["message"] == "first"
        assert dataset.ask("open", {"reference": "kept"})["path"].startswith("/volume/datasets/photos/versions/")
        with pytest.raises(
            UserError, match="nothing: is no branch, label, commit or version; choose one of kept, main"
        ):
            dataset.ask("open", {"reference": "nothing"})
    _looked_at_read_only(cluster, resolved, tmp_path)


def _looked_at_read_only(cluster: Claims, resolved: ResolvedStack, tmp_path: Path) -> None:
    args, options = remote.declared(resolved, "photos"), _options("kept")
    with remote.running(cluster.kube, resolved, options, args, read_only=True) as dataset:
        transfer.checkout(dataset, options, tmp_path / "back", Console())
        assert {path.name: path.read_text() for path in (tmp_path / "back").iterdir()} == {
            f"{number}": f"photo {number}" for number in range(_FILES)
        }
        assert history.lines(dataset.ask("diff", {"before": "kept"})) == ["~ 7 (7 B -> 7 B)"]
        assert [each["commit"]["message"] for each in dataset.ask("log", {})] == ["second", "first"]
        # The version's folder exists, so a pod that may not write finds it.
        assert dataset.ask("open", {"reference": "kept"})["path"].startswith("/volume/datasets/photos/versions/")
        with pytest.raises(UserError, match="Read-only file system"):
            dataset.ask("label", {"name": "x"})


def test_a_prefix_of_another_volume_is_committed_where_it_is(
    cluster: Claims, resolved: ResolvedStack, tmp_path: Path
) -> None:
    options, sources = _options(dataset="copies"), {"prefix": f"{remote.SOURCES}/prefix"}
    args = remote.declared(resolved, "copies")
    with remote.running(cluster.kube, resolved, options, args, read_only=False, sources=sources) as dataset:
        transfer.commit(dataset, options, VolumePath("prefix", ""), {**_ABOUT, "message": ""}, Console())
        assert dataset.ask("branches")["branches"]["main"]["files"] == 0
