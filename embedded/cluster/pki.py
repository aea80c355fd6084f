"""The cluster's certificates: three authorities that do not trust each other, and what they sign, renewed in time."""

from __future__ import annotations

import datetime
import ipaddress
from dataclasses import dataclass, field
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from tensorplane.core import whole_file
from tensorplane.embedded.cluster.nodes import Node
from tensorplane.embedded.instance import Instance

_AUTHORITY_DAYS = 3650
_LEAF_DAYS = 365
_RENEW_DAYS = 30

# `ca` is the cluster's own authority: a certificate from it authenticates a user of the API. etcd and the aggregated
# APIs do not trust it, so no certificate request approved in the cluster gives access to them.
AUTHORITIES = ("ca", "etcd-ca", "front-proxy-ca")


@dataclass(frozen=True)
class Leaf:
    """One certificate: who it is for, who signs it, and the addresses it is valid for (empty: a client)."""

    name: str
    authority: str
    common_name: str
    organization: str | None = None
    addresses: tuple[str, ...] = field(default=())


def leaves(instance: Instance) -> list[Leaf]:
    """Every certificate that the processes of the control plane and the first node, and the administrator, hold."""
    first_service = str(ipaddress.ip_network(instance.service_cidr)[1])
    api = ["kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local"]
    return [
        Leaf("etcd", "etcd-ca", "etcd", addresses=("127.0.0.1", "localhost")),
        Leaf("apiserver-etcd", "etcd-ca", "kube-apiserver"),
        Leaf("apiserver", "ca", "kube-apiserver", addresses=(*api, instance.node_ip, first_service)),
        Leaf("apiserver-kubelet", "ca", "kube-apiserver-kubelet-client"),
        Leaf("front-proxy", "front-proxy-ca", "front-proxy-client"),
        *of_node(Node(instance)),
        Leaf("controller-manager", "ca", "system:kube-controller-manager"),
        Leaf("scheduler", "ca", "system:kube-scheduler"),
        Leaf("proxy", "ca", "system:kube-proxy"),
        Leaf("admin", "ca", "tensorplane-admin", "system:masters"),
    ]


def of_node(node: Node) -> list[Leaf]:
    """The kubelet's certificates: for its callers, and as the client that may see what is on its node alone."""
    user, names = f"system:node:{node.name}", (node.name, node.ip)
    return [
        Leaf(node.of_its_own("kubelet-server"), "ca", user, addresses=names),
        Leaf(node.of_its_own("kubelet"), "ca", user, "system:nodes"),
    ]


def simulator() -> Leaf:
    """The certificate of KWOK, if nodes are simulated. Its RBAC is bound to this name."""
    return Leaf("kwok", "ca", "tensorplane:kwok")


def ensure(folder: Path, wanted: list[Leaf], now: datetime.datetime | None = None) -> None:
    """Issues certificates that are absent, expire soon or have other contents than wanted; keeps the others.

    Key and certificate share one file, written in one step, so that a killed run leaves no key without its certificate.
    """
    now = now or datetime.datetime.now(datetime.UTC)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for name in AUTHORITIES:
        pem = folder / f"{name}.pem"
        if not _is_good(pem, Leaf(name, name, name), pem, now):
            whole_file.write(pem, _issue(Leaf(name, name, name), None, now), mode=whole_file.PRIVATE)
        whole_file.write(folder / f"{name}.crt", certificate(pem), mode=whole_file.PRIVATE)
    for leaf in wanted:
        issuer = folder / f"{leaf.authority}.pem"
        if not _is_good(folder / f"{leaf.name}.pem", leaf, issuer, now):
            whole_file.write(folder / f"{leaf.name}.pem", _issue(leaf, issuer, now), mode=whole_file.PRIVATE)
    _ensure_token_key(folder)


def certificate(pem: Path) -> bytes:
    """The certificate alone, without the key that shares its file."""
    return _load(pem).public_bytes(serialization.Encoding.PEM)


def private_key(pem: Path) -> bytes:
    """The key without the certificate, in PEM."""
    return _key_bytes(_load_key(pem))


def _ensure_token_key(folder: Path) -> None:
    """The key that signs service account tokens. It is never rotated: that would invalidate every issued token."""
    path = folder / "service-account.pem"
    if not path.exists():
        whole_file.write(path, _key_bytes(ec.generate_private_key(ec.SECP256R1())), mode=whole_file.PRIVATE)
    public = _load_key(path).public_key()
    encoding, form = serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    whole_file.write(folder / "service-account.pub", public.public_bytes(encoding, form), mode=whole_file.PRIVATE)


def _is_good(pem: Path, leaf: Leaf, issuer: Path, now: datetime.datetime) -> bool:
    try:
        found = _load(pem)
        _load_key(pem)
        found.verify_directly_issued_by(_load(issuer))
    except (OSError, ValueError, TypeError, InvalidSignature):
        return False
    enough = found.not_valid_after_utc - now > datetime.timedelta(days=_RENEW_DAYS)
    return enough and found.subject == _subject(leaf) and _addresses(found) == set(leaf.addresses)


def _addresses(found: x509.Certificate) -> set[str]:
    try:
        names = found.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return set()
    return {str(name.value) for name in names}


def _subject(leaf: Leaf) -> x509.Name:
    parts = [x509.NameAttribute(NameOID.COMMON_NAME, leaf.common_name)]
    if leaf.organization:
        parts.insert(0, x509.NameAttribute(NameOID.ORGANIZATION_NAME, leaf.organization))
    return x509.Name(parts)


def _issue(leaf: Leaf, issuer: Path | None, now: datetime.datetime) -> bytes:
    """Key and certificate in PEM; self-signed without an issuer."""
    key = ec.generate_private_key(ec.SECP256R1())
    signer = _load_key(issuer) if issuer else key
    days = _LEAF_DAYS if issuer else _AUTHORITY_DAYS
    builder = (
        x509.CertificateBuilder()
        .subject_name(_subject(leaf))
        .issuer_name(_load(issuer).subject if issuer else _subject(leaf))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(days=days))
        .add_extension(x509.BasicConstraints(ca=issuer is None, path_length=None), critical=True)
        .add_extension(_usage(authority=issuer is None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()), critical=False)
    )
    if issuer:
        if leaf.addresses:
            builder = builder.add_extension(_names(leaf.addresses), critical=False)
        builder = builder.add_extension(x509.ExtendedKeyUsage(_purposes(leaf)), critical=False)
    signed = builder.sign(signer, hashes.SHA256())
    return _key_bytes(key) + signed.public_bytes(serialization.Encoding.PEM)


def _usage(*, authority: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=authority,
        crl_sign=authority,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _purposes(leaf: Leaf) -> list[x509.ObjectIdentifier]:
    """Its extended key usages: server, client; etcd has both, since its own gateway and peers call it."""
    server = [ExtendedKeyUsageOID.SERVER_AUTH] if leaf.addresses else []
    client = [ExtendedKeyUsageOID.CLIENT_AUTH] if not leaf.addresses or leaf.authority == "etcd-ca" else []
    return server + client


def _names(addresses: tuple[str, ...]) -> x509.SubjectAlternativeName:
    names: list[x509.GeneralName] = []
    for address in addresses:
        try:
            names.append(x509.IPAddress(ipaddress.ip_address(address)))
        except ValueError:
            names.append(x509.DNSName(address))
    return x509.SubjectAlternativeName(names)


def _load(pem: Path) -> x509.Certificate:
    return x509.load_pem_x509_certificate(pem.read_bytes())


def _load_key(pem: Path) -> ec.EllipticCurvePrivateKey:
    key = serialization.load_pem_private_key(pem.read_bytes(), password=None)
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise TypeError(f"{pem}: not an elliptic-curve key")
    return key


def _key_bytes(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
