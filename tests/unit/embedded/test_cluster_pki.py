"""The cluster's certificates: who signs whom, what is renewed and when, what a killed run may leave."""

from __future__ import annotations

import datetime
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.exceptions import InvalidSignature

from tensorplane.embedded.cluster import pki
from tensorplane.embedded.instance import Instance

LEAVES = pki.leaves(Instance("test"))
NOW = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    pki.ensure(tmp_path / "pki", LEAVES, NOW)
    return tmp_path / "pki"


def _read(folder: Path, name: str) -> x509.Certificate:
    return x509.load_pem_x509_certificate((folder / f"{name}.pem").read_bytes())


def _contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("leaf", LEAVES, ids=lambda leaf: leaf.name)
def test_each_is_signed_by_its_authority_and_no_other(folder: Path, leaf: pki.Leaf) -> None:
    certificate = _read(folder, leaf.name)
    certificate.verify_directly_issued_by(_read(folder, leaf.authority))
    for other in set(pki.AUTHORITIES) - {leaf.authority}:
        with pytest.raises((ValueError, InvalidSignature)):
            certificate.verify_directly_issued_by(_read(folder, other))


def test_only_servers_can_prove_a_server_and_only_clients_a_client(folder: Path) -> None:
    purposes = {
        leaf.name: {
            purpose._name
            for purpose in _read(folder, leaf.name).extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
        }
        for leaf in LEAVES
    }
    assert purposes["etcd"] == {"serverAuth", "clientAuth"}
    assert [name for name, found in purposes.items() if found == {"serverAuth"}] == ["apiserver", "kubelet-server"]
    clients = {name for name, found in purposes.items() if found == {"clientAuth"}}
    assert clients == {leaf.name for leaf in LEAVES} - {"etcd", "apiserver", "kubelet-server"}


def test_the_api_server_is_valid_for_its_address_and_its_service(folder: Path) -> None:
    names = _read(folder, "apiserver").extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert {"10.203.0.1", "10.204.0.1", "kubernetes.default.svc"} <= {str(name.value) for name in names}


def test_every_file_is_the_owners_alone_and_no_published_file_holds_a_key(folder: Path) -> None:
    for path in folder.iterdir():
        assert path.stat().st_mode & 0o077 == 0, path
        if path.suffix != ".pem":
            assert b"PRIVATE" not in path.read_bytes(), path


def test_a_second_run_changes_nothing(folder: Path) -> None:
    before = _contents(folder)
    pki.ensure(folder, LEAVES, NOW + datetime.timedelta(days=300))
    assert _contents(folder) == before


def test_a_certificate_is_renewed_a_month_before_it_ends(folder: Path) -> None:
    before, later = _contents(folder), NOW + datetime.timedelta(days=340)
    pki.ensure(folder, LEAVES, later)
    changed = {name for name, content in _contents(folder).items() if before[name] != content}
    assert changed == {f"{leaf.name}.pem" for leaf in LEAVES}
    assert _read(folder, "admin").not_valid_after_utc > later + datetime.timedelta(days=300)


def test_authorities_that_end_are_renewed_with_all_that_they_signed(folder: Path) -> None:
    before = _contents(folder)
    pki.ensure(folder, LEAVES, NOW + datetime.timedelta(days=3640))
    same = {name for name, content in _contents(folder).items() if before[name] == content}
    assert same == {"service-account.pem", "service-account.pub"}
    _read(folder, "admin").verify_directly_issued_by(_read(folder, "ca"))


def test_another_address_renews_what_named_the_old_one(folder: Path) -> None:
    before = _contents(folder)
    pki.ensure(folder, pki.leaves(Instance("bench")), NOW)
    changed = {name for name, content in _contents(folder).items() if before[name] != content}
    assert changed == {"apiserver.pem", "kubelet-server.pem"}


@pytest.mark.parametrize("rest", [b"", b"-----BEGIN PRIVATE KEY-----\n", b"garbage"])
def test_a_damaged_file_is_issued_again(folder: Path, rest: bytes) -> None:
    (folder / "kubelet.pem").write_bytes(rest)
    pki.ensure(folder, LEAVES, NOW)
    _read(folder, "kubelet").verify_directly_issued_by(_read(folder, "ca"))
    assert pki.private_key(folder / "kubelet.pem").startswith(b"-----BEGIN PRIVATE KEY-----")
