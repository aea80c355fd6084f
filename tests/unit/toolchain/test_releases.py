"""The pinned releases have the versions of the Go modules, so that both ways make the same programs."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import pytest

from tensorplane.toolchain import go_module, releases
from tensorplane.toolchain.go_module import GoModule, required
from tensorplane.toolchain.releases import Release

_MODULES = (
    go_module.kubernetes(),
    go_module.containerd(),
    go_module.helm(),
    go_module.pulumi(),
    go_module.csi(),
    go_module.kwok(),
    *(module() for module in go_module.CONTROLLERS.values()),
)
_MACHINES = ("x86_64", "aarch64")
_PINNED = [(release, machine) for machine in _MACHINES for release in releases.pinned(machine)]
_EACH = pytest.mark.parametrize(
    ("release", "machine"), _PINNED, ids=[f"{release.name}-{machine}" for release, machine in _PINNED]
)


@pytest.fixture(autouse=True)
def may_download(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(releases.SWITCH, raising=False)


@_EACH
def test_a_release_has_the_version_of_its_go_module(release: Release, machine: str) -> None:
    users = [module for module in _MODULES if any(release.has(program) for program in module.programs)]
    assert users, "no module has a program of it"
    for module in users:
        assert release.version == required(module.source, release.module)
    number = release.version.removeprefix("v")
    assert re.search(rf"\b{re.escape(number)}\b", release.url.replace("v", "")), "the URL is of another version"


@_EACH
def test_a_release_is_pinned_by_a_hash_with_its_source(release: Release, machine: str) -> None:
    algorithm, _, digits = release.hash.partition(":")
    assert algorithm in ("sha256", "sha512")
    assert re.fullmatch(f"[0-9a-f]{{{2 * hashlib.new(algorithm).digest_size}}}", digits)
    assert release.url.startswith("https://")
    assert re.fullmatch(r"[\w-]+/[\w-]+, \S+, commit [0-9a-f]{12}", release.source)


def test_each_architecture_has_the_same_releases_with_files_of_their_own() -> None:
    names = [[release.name for release in releases.pinned(machine)] for machine in _MACHINES]
    assert names[0] == names[1] != []
    for what in ("url", "hash"):
        assert len({getattr(release, what) for release, _ in _PINNED}) == len(_PINNED)
    assert releases.pinned("riscv64") == []


def test_what_has_no_release_is_built() -> None:
    left = go_module.kubernetes().without(_released(go_module.kubernetes()))
    assert left and left.only == ("./coredns", "sigs.k8s.io/jobset", "sigs.k8s.io/kueue/cmd/kueue")
    # Its charts come with what is built.
    assert left.charts
    for module in (go_module.csi(), go_module.kwok(), *(each() for each in go_module.CONTROLLERS.values())):
        assert _released(module) == set()


@pytest.mark.parametrize(
    "module", [go_module.containerd(), go_module.helm(), go_module.pulumi()], ids=lambda it: it.name
)
def test_a_module_of_releases_alone_needs_no_go(module: GoModule) -> None:
    assert module.without(_released(module)) is None
    assert not (module.charts or module.crds or module.chart)


def test_the_names_of_one_program_are_built_together_where_one_is_missing() -> None:
    module = go_module.kubernetes()
    left = module.without(_released(module) - {"kubelet"})
    assert left and "./kube" in left.only
    assert left.names == {"kube": ("kubelet",)}


def test_the_file_of_pins_says_what_is_built_everywhere() -> None:
    text = Path(releases.PINS).read_text()
    for name in (
        "Kueue",
        "JobSet",
        "CoreDNS",
        "CSI",
        "KWOK",
        "KEDA",
        "Prometheus",
        "Traefik",
        "Argo Workflows",
        "runc",
    ):
        assert name in text.split("\n[")[0]


def _released(module: GoModule) -> set[str]:
    return {program for program in module.programs if any(release.has(program) for release in releases.of(module))}
