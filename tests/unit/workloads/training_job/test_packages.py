"""Packages of a job are checked before anything is built, without an index."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tensorplane import stack
from tensorplane.components.base.settings import Settings
from tensorplane.stack_file import package_lock
from tensorplane.stack_file.package_lock import PackageLock
from tensorplane.workloads.training_job import packages
from tensorplane.workloads.training_job import packages as checks
from tensorplane.workloads.training_job.platform_context import job_context
from tensorplane.workloads.training_job.settings import JobSettings
from tests.support.problems import dev, problems_of

PINS = {"numpy": "2.4.6", "tf-keras": "2.21.0"}
LOCKED = ("pandas==2.2.3 --hash=sha256:aa",)
OF_THE_IMAGE = "tf-keras==2.21.0 --hash=sha256:bb"


@pytest.fixture(autouse=True)
def project(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A project whose lock has pandas."""
    requirements = tmp_path / "training.txt"
    requirements.write_text("".join(f"{n}=={v}\n" for n, v in PINS.items()))
    monkeypatch.setattr(package_lock, "TRAINING_IMAGE", requirements)
    package_lock.write(
        tmp_path,
        PackageLock(package_lock.base_image_hash(), {"pandas==2.2.3": LOCKED, "tf-keras": (OF_THE_IMAGE,)}),
    )
    for module in (checks, packages):
        monkeypatch.setattr(module, "PROJECT", tmp_path)
    return tmp_path


def of(asked: list[Any], **more: Any) -> list[str]:
    tree = dev()
    tree["workloads"]["digits"] |= {"packages": asked, **more}
    return [line.removeprefix("tensorplane:workloads.digits.") for line in problems_of(tree)]


def test_locked_packages_are_accepted() -> None:
    assert of(["pandas==2.2.3"]) == []


def test_packages_that_are_not_locked_name_the_command() -> None:
    assert of(["pandas"]) == ["packages: not in packages.lock; run: tensorplane image lock"]


def test_a_lock_for_an_older_training_image_is_stale(project: Path) -> None:
    (project / "training.txt").write_text("numpy==2.5.0\n")
    reason = "packages.lock was written for a training image with other packages; run: tensorplane image lock"
    assert of(["pandas==2.2.3"]) == [f"packages: {reason}"]


def test_a_damaged_lock_is_named(project: Path) -> None:
    (project / package_lock.FILE).write_text("")
    assert of(["pandas==2.2.3"]) == ["packages: packages.lock: cannot be read; run: tensorplane image lock"]


@pytest.mark.parametrize("asked", ["numpy<2", "NumPy==1.26.4", "tf_keras==2.20.0"])
def test_another_version_of_what_the_image_has_is_refused(asked: str) -> None:
    [line] = of(["pandas==2.2.3", asked])
    assert line.startswith("packages.1: the training image has ")
    assert "with which its TensorFlow works; remove the item" in line


def test_a_version_that_the_image_has_is_no_contradiction() -> None:
    assert of(["numpy>=2"]) == ["packages: not in packages.lock; run: tensorplane image lock"]


def test_a_repeated_package_is_refused() -> None:
    assert of(["pandas==2.2.3", "Pandas>2"]) == [
        "packages.1: pandas is also in position 0; merge the two into one item"
    ]


@pytest.mark.parametrize("asked", ["--index-url x", "a b", "./wheel.whl", "x @ https://example.com/x.whl", ""])
def test_only_packages_of_the_index_are_accepted(asked: str) -> None:
    [line] = of([asked])
    assert line.startswith("packages.0: ")
    assert "use a package of the index with its versions, such as pandas==2.2.3" in line


def test_an_image_of_the_user_must_have_them_itself() -> None:
    assert of(["pandas==2.2.3"], image="team/train:1") == [
        "packages: is set, and so is image, which must contain all packages; remove one of them"
    ]


ELSEWHERE = {"kind": "existing", "context": "research"}


@pytest.mark.parametrize(
    ("more", "missing"),
    [
        (
            {"checkpoints": None, "model": None},
            "set checkpoints or model, on whose volume they are kept and set egress: internet, or the addresses of "
            "your index",
        ),
        ({}, "set egress: internet, or the addresses of your index"),
        ({"checkpoints": None, "model": None, "egress": "internet"}, "set checkpoints or model, on whose volume they"),
    ],
)
def test_elsewhere_the_pods_need_a_volume_and_an_index(more: dict[str, Any], missing: str) -> None:
    [line] = [line for line in elsewhere(**more) if ".packages: " in line]
    assert f"packages: is set, and on this cluster the pods install them; {missing}" in line
    assert line.endswith("or set image, built with: tensorplane image build --push REGISTRY/NAME:TAG pandas==2.2.3")


def elsewhere(**more: Any) -> list[str]:
    tree = dev()
    tree["cluster"] = ELSEWHERE
    job = {**tree["workloads"]["digits"], "packages": ["pandas==2.2.3"], **more}
    tree["workloads"]["digits"] = {key: value for key, value in job.items() if value is not None}
    return problems_of(tree)


def test_elsewhere_the_same_checks_apply() -> None:
    assert not [line for line in elsewhere(egress="internet") if ".packages" in line]
    assert [line for line in elsewhere(egress="internet", packages=["pandas"]) if "not in packages.lock" in line]


def test_the_image_is_named_by_the_locked_set() -> None:
    name = packages.image("tensorplane.local/train:2.21.0", ["pandas==2.2.3"])
    assert name == package_lock.image_name("tensorplane.local/train:2.21.0", LOCKED)
    assert packages.image("tensorplane.local/train:2.21.0", []) == "tensorplane.local/train:2.21.0"


def test_packages_of_the_training_image_are_installed_where_its_public_one_lacks_them() -> None:
    name = "tensorplane.local/train:2.21.0"
    assert packages.image(name, ["tf-keras"]) == name
    settings = JobSettings.model_validate(
        {"strategy": {"kind": "single"}, "command": ["python3"], "packages": ["tf-keras"]}
    )
    for cluster, installed in (({"kind": "embedded"}, ()), (ELSEWHERE, (OF_THE_IMAGE,))):
        platform = stack.load(Settings({"cluster": cluster})).platform
        assert job_context("job", settings, platform).packages == installed
