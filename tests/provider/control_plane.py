"""A real Kubernetes API on loopback for the tests of a session: etcd, kube-apiserver, and two controllers.

The garbage collector ends foreground deletions and the namespace controller ends namespaces; nothing else acts, so that
the tests say what becomes of the objects.
"""

from __future__ import annotations

import base64
import contextlib
import secrets
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from tensorplane.core.errors import ApiError, UserError
from tensorplane.core.kube import Kube
from tensorplane.plugins.kubernetes import kubeconfig
from tensorplane.toolchain import tools
from tests.support import kubeconfigs
from tests.support.ports import free_ports
from tests.support.waiting import PATIENT_SECONDS, eventually


@contextlib.contextmanager
def running(folder: Path) -> Iterator[dict[str, Any]]:
    """Starts everything, yields an administrator's kubeconfig, and leaves no process behind."""
    with contextlib.ExitStack() as stack:
        etcd, peer, secure = free_ports(3)
        stack.enter_context(_program(folder, "etcd", *_etcd(folder, etcd, peer)))
        stack.enter_context(_program(folder, "kube-apiserver", *_apiserver(folder, etcd, secure)))
        config = _kubeconfig(folder, secure)
        (folder / "kubeconfig").write_text(yaml.safe_dump(config))
        _wait_until_ready(folder, config)
        stack.enter_context(controllers(folder, "garbage-collector", "namespace"))
        yield config


@contextlib.contextmanager
def controllers(folder: Path, *names: str) -> Iterator[None]:
    """Runs some of Kubernetes' controllers, with the kubeconfig of the folder."""
    options = [f"--kubeconfig={folder / 'kubeconfig'}", "--leader-elect=false", "--secure-port=0"]
    named = ",".join(f"{name}-controller" for name in names)
    with _program(folder, "kube-controller-manager", f"--controllers={named}", *options):
        yield


@contextlib.contextmanager
def _program(folder: Path, name: str, *arguments: str) -> Iterator[None]:
    try:
        binary = tools().path(name)
    except UserError as fault:
        pytest.fail(f"the provider's tests cannot run here: {fault}")
    # setpriv: the program ends with the tests even where those are killed.
    command = ["setpriv", "--pdeathsig", "KILL", str(binary), *arguments]
    with (folder / f"{name}.log").open("wb") as log, subprocess.Popen(command, stdout=log, stderr=log) as process:
        try:
            yield
        finally:
            process.kill()


def _etcd(folder: Path, client: int, peer: int) -> list[str]:
    return [
        f"--data-dir={folder / 'etcd'}",
        "--unsafe-no-fsync",
        f"--listen-client-urls=http://127.0.0.1:{client}",
        f"--advertise-client-urls=http://127.0.0.1:{client}",
        f"--listen-peer-urls=http://127.0.0.1:{peer}",
    ]


def _apiserver(folder: Path, etcd: int, secure: int) -> list[str]:
    key = folder / "service-account.key"
    key.write_bytes(
        rsa.generate_private_key(65537, 2048).private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
        )
    )
    (folder / "token").write_text(secrets.token_hex(16))
    (folder / "tokens.csv").write_text(f"{(folder / 'token').read_text()},tester,1,system:masters\n")
    return [
        f"--etcd-servers=http://127.0.0.1:{etcd}",
        f"--cert-dir={folder / 'certificates'}",
        "--bind-address=127.0.0.1",
        "--advertise-address=127.0.0.1",
        "--endpoint-reconciler-type=none",
        f"--secure-port={secure}",
        "--service-cluster-ip-range=10.96.0.0/24",
        f"--token-auth-file={folder / 'tokens.csv'}",
        "--authorization-mode=RBAC",
        "--anonymous-auth=false",
        "--disable-admission-plugins=ServiceAccount",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-key-file={key}",
        f"--service-account-signing-key-file={key}",
    ]


def _kubeconfig(folder: Path, port: int) -> dict[str, Any]:
    certificate = folder / "certificates" / "apiserver.crt"
    eventually(lambda: certificate.is_file() and b"END CERTIFICATE" in certificate.read_bytes())
    authority = base64.b64encode(certificate.read_bytes()).decode()
    user = {"token": (folder / "token").read_text()}
    return kubeconfigs.kubeconfig(f"https://127.0.0.1:{port}", user, authority=authority)


def _wait_until_ready(folder: Path, config: dict[str, Any]) -> None:
    api = Kube(kubeconfig.connect(config))
    end = time.monotonic() + PATIENT_SECONDS
    while True:
        try:
            api.request("GET", "/readyz")
        except ApiError as error:
            if time.monotonic() > end:
                log = (folder / "kube-apiserver.log").read_text()[-2000:]
                pytest.fail(f"the API server is not ready: {error.message}\n{log}")
            time.sleep(0.1)
        else:
            return
