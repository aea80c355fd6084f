"""Images with packages of jobs, and archives of any origin."""

from __future__ import annotations

import io
import json
import tarfile
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tensorplane import images
from tensorplane.core.errors import UserError
from tensorplane.core.step import Step
from tensorplane.images import add_ons, archive, oci, package_layer, package_resolution, training
from tensorplane.images import layer as layers
from tensorplane.images.layer import Layer
from tensorplane.stack_file import package_lock

LOCKED = ("humanize==4.9.0 --hash=sha256:aa",)


def test_a_set_of_packages_is_a_layer_on_the_training_image() -> None:
    image, base = package_layer.image(LOCKED), training.image()
    assert image.name.startswith(f"{base.name}-")
    assert image.recipes[:-1] == base.recipes
    assert (image.entrypoint, image.env) == (base.entrypoint, base.env)
    assert package_layer.layer(LOCKED).key != package_layer.layer(("humanize==4.9.1 --hash=sha256:aa",)).key


def test_it_is_built_and_imported_after_the_training_image(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))

    def absent() -> None:
        raise UserError("not built")

    monkeypatch.setattr(add_ons, "tools", absent)
    [task] = [task for task in images.tasks(packages=[LOCKED]) if task.name == "image packages 1"]
    assert task.after == ("image train",)
    monkeypatch.setattr(add_ons, "images", list)
    names = list(images.archives(packages=[LOCKED]))
    assert names.index(package_layer.image(LOCKED).name) > names.index(training.image().name)


def test_its_archive_has_the_added_layer_only(tmp_path: Path) -> None:
    below, own = _layer(tmp_path, "below"), _layer(tmp_path, "own")
    image = oci.Image("team/train:1", ())
    config = image.config([below, own])
    oci.write(tmp_path / "whole.tar", image.name, config, [below, own])
    oci.write(tmp_path / "thin.tar", image.name, config, [below, own], omitted=1)
    with tarfile.open(tmp_path / "thin.tar") as thin, tarfile.open(tmp_path / "whole.tar") as whole:
        assert set(whole.getnames()) - set(thin.getnames()) == {f"blobs/sha256/{below.digest}"}
    assert oci.manifest_digest(tmp_path / "thin.tar") == oci.manifest_digest(tmp_path / "whole.tar")
    assert archive.names(tmp_path / "whole.tar") == ["docker.io/team/train:1"]


def _layer(folder: Path, content: str) -> Layer:
    root = folder / content
    root.mkdir()
    (root / "file").write_text(content)
    diff_id, digest = layers.pack(root, folder / "packed")
    return Layer((folder / "packed").rename(folder / f"{content}-{'0' * 16}-{diff_id}-{digest}.tar.zst"))


def _archive(path: Path, **files: Any) -> Path:
    with tarfile.open(path, "w") as made:
        for name, content in files.items():
            data = json.dumps(content).encode()
            entry = tarfile.TarInfo(f"{name}.json")
            entry.size = len(data)
            made.addfile(entry, io.BytesIO(data))
    return path


def test_names_in_what_docker_saves(tmp_path: Path) -> None:
    saved = _archive(tmp_path / "a.tar", manifest=[{"RepoTags": ["trainer:1", "r.example/a/b"]}, {"RepoTags": None}])
    assert archive.names(saved) == ["docker.io/library/trainer:1", "r.example/a/b:latest"]


def test_an_archive_may_name_no_image(tmp_path: Path) -> None:
    index = {"manifests": [{"annotations": {"org.opencontainers.image.ref.name": "1"}}, {}]}
    assert archive.names(_archive(tmp_path / "a.tar", index=index)) == []


def test_what_is_no_archive_of_images_is_refused(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("text")
    with pytest.raises(UserError, match="is not an archive of images"):
        archive.names(tmp_path / "text")
    with pytest.raises(UserError, match="has neither"):
        archive.names(_archive(tmp_path / "a.tar", other={}))
    with pytest.raises(UserError, match="No such file"):
        archive.names(tmp_path / "absent")


@pytest.mark.parametrize(
    ("name", "full"),
    [
        ("python", "docker.io/library/python:latest"),
        ("team/train:1", "docker.io/team/train:1"),
        ("docker.io/python", "docker.io/library/python:latest"),
        ("localhost/a:2", "localhost/a:2"),
        ("r.example:5000/a", "r.example:5000/a:latest"),
        ("r.example/a@sha256:0", "r.example/a@sha256:0"),
    ],
)
def test_names_are_completed_as_the_kubelet_does(name: str, full: str) -> None:
    assert archive.full(name) == full


CONFLICT = """\
ERROR: Cannot install numba==0.59.0 because these package versions have conflicting dependencies.

The conflict is caused by:
    numba 0.59.0 depends on numpy<1.27 and >=1.22
    The user requested (constraint) numpy==2.4.6

To fix this you could try to:
1. loosen the range of package versions you've specified
"""


def test_a_contradiction_is_one_line_with_both_sides() -> None:
    assert package_resolution.reason(CONFLICT) == (
        "packages: numba 0.59.0 depends on numpy<1.27 and >=1.22, and the training image has numpy==2.4.6; "
        "choose versions that fit the training image's"
    )
    other = "ERROR: Could not find a version that satisfies x (from versions: none)\nERROR: No matching distribution\n"
    assert package_resolution.reason(other).startswith("packages: Could not find a version that satisfies x")
    assert package_resolution.reason("Killed") == ""


def _required(name: str, found: set[str]) -> set[str]:
    """A package and all that it requires, on this machine."""
    if name not in found:
        found.add(name)
        for requirement in map(Requirement, metadata.requires(name) or ()):
            if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
                _required(canonicalize_name(requirement.name), found)
    return found


def test_a_lock_has_all_that_tensorflow_s_public_image_lacks() -> None:
    own = set(package_lock.pins())
    assert own - {"tensorflow"} - _required("tensorflow-cpu", set()) == package_lock.IMAGE_ONLY_PACKAGES


def test_packages_of_the_training_image_alone_are_locked_too(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pins = {"tensorflow": "2.21.0", "numpy": "2.4.6", "tf-keras": "2.21.0"}
    wheel = {"url": "https://index.example/x-none-any.whl", "archive_info": {"hashes": {"sha256": "aa"}}}
    found = {f"{name}=={version}": {"download_info": wheel} for name, version in {**pins, "humanize": "4.9.0"}.items()}
    monkeypatch.setattr(package_resolution, "_report", lambda *_: found)
    extracted = SimpleNamespace(extract=lambda _: None)
    monkeypatch.setattr(package_resolution, "BASE", SimpleNamespace(layer=lambda _: extracted))
    monkeypatch.setattr(package_resolution, "BasePython", lambda _: SimpleNamespace(version="3.11"))
    lines = package_resolution.resolve(["tf-keras"], pins, Step("lock"))
    assert lines == ("humanize==4.9.0 --hash=sha256:aa", "tf-keras==2.21.0 --hash=sha256:aa")
    requirements = tmp_path / "training.txt"
    requirements.write_text("".join(f"{n}=={v}\n" for n, v in pins.items()))
    monkeypatch.setattr(package_lock, "TRAINING_IMAGE", requirements)
    assert package_lock.lines_not_in_base(lines) == lines[:1]
