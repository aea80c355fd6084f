"""Who asks an API server: what a kubeconfig's user and its exec plugin give, when it is renewed, and why it fails."""

from __future__ import annotations

import base64
import http.server
import json
import stat
import sys
import threading
from collections.abc import Iterator
from email.message import Message
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from hypothesis import strategies as st
from kubernetes import config as official

from tensorplane.core.api_connection import Connection
from tensorplane.core.credentials import Credentials
from tensorplane.core.errors import ApiError, UserError
from tensorplane.core.kube import Kube
from tensorplane.core.kubeconfig import Access
from tests.support import asking_server

V1 = "client.authentication.k8s.io/v1"
_PLUGIN = """#!{python}
import json, os, sys
from email.message import Message
from pathlib import Path
calls = Path(__file__).with_suffix(".calls")
count = int(calls.read_text()) + 1 if calls.exists() else 1
calls.write_text(str(count))
calls.with_suffix(".info").write_text(os.environ["KUBERNETES_EXEC_INFO"])
status = json.loads({status!r})
status["token"] = status.get("token", "").format(count)
print(json.dumps({{"apiVersion": {version!r}, "kind": "ExecCredential", "status": status}}))
sys.exit({code})
"""


class _Api(http.server.BaseHTTPRequestHandler):
    """Notes who asks and through what, and refuses tokens that are `old`."""

    asked: list[tuple[str, Message]]

    def do_GET(self) -> None:
        self.asked.append((self.path, self.headers))
        old = (self.headers["Authorization"] or "").endswith("old-1")
        body = json.dumps({"kind": "Status", "message": "Unauthorized"} if old else {"major": "1"}).encode()
        self.send_response(401 if old else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Prints nothing."""


@pytest.fixture
def address(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setattr(_Api, "asked", [], raising=False)
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Api) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def _plugin(folder: Path, code: int = 0, version: str = V1, **status: str) -> dict[str, Any]:
    """A user with an exec plugin that gives this, with the number of its calls in place of `{}`."""
    file = folder / "plugin"
    file.write_text(_PLUGIN.format(python=sys.executable, status=json.dumps(status), version=version, code=code))
    file.chmod(file.stat().st_mode | stat.S_IXUSR)
    return {"exec": {"apiVersion": V1, "command": str(file), "interactiveMode": "Never", "provideClusterInfo": True}}


def _calls(folder: Path) -> int:
    return int((folder / "plugin.calls").read_text())


def test_a_plugins_token_is_kept_until_it_ends(tmp_path: Path) -> None:
    later = Credentials(
        _plugin(tmp_path, token="t-{}", expirationTimestamp="2100-01-01T00:00:00Z"), {"server": "https://a"}
    )
    assert [later.headers() for _ in range(3)] == [[("Authorization", "Bearer t-1")]] * 3
    assert json.loads((tmp_path / "plugin.info").read_text())["spec"]["cluster"] == {"server": "https://a"}
    ended = Credentials(_plugin(tmp_path, token="t-{}", expirationTimestamp="2020-01-01T00:00:00Z"), {})
    assert [ended.headers()[0][1] for _ in range(2)] == ["Bearer t-2", "Bearer t-3"]


def test_a_refused_token_of_a_plugin_is_renewed_once(address: str, tmp_path: Path) -> None:
    user = _plugin(tmp_path, token="old-{}")
    assert Kube(Connection(Access({"server": address}, user))).get("/version") == {"major": "1"}
    assert _calls(tmp_path) == 2
    with pytest.raises(ApiError) as refused:
        Kube(Connection(Access({"server": address}, {"token": "old-1"}))).get("/version")
    assert (refused.value.status, len(_Api.asked)) == (401, 3)


def test_a_plugin_gives_a_certificate(tmp_path: Path) -> None:
    with asking_server.running(tmp_path / "keys", _Api) as config:
        user = config["users"][0]["user"]
        pair = [base64.b64decode(user[f"client-{key}-data"]).decode() for key in ("certificate", "key")]
        given = _plugin(tmp_path, clientCertificateData=pair[0], clientKeyData=pair[1])
        _Api.asked = []
        connection = Connection(Access(config["clusters"][0]["cluster"], given))
        assert Kube(connection).get("/version") == {"major": "1"}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"code": 3}, r"returned no credentials \(exit code 3\); run it to see why"),
        (
            {"version": "client.authentication.k8s.io/v1beta1"},
            r"answers in apiVersion \S+v1beta1, .*/v1; ",
        ),
        ({"token": ""}, r"returned no credentials; run it to see why"),
    ],
)
def test_a_plugin_that_fails_is_one_line(address: str, tmp_path: Path, change: dict[str, Any], reason: str) -> None:
    user = _plugin(tmp_path, **{"token": "t", **change})
    with pytest.raises(UserError, match=rf"^the kubeconfig cannot be used: its exec plugin \S+plugin {reason}"):
        Kube(Connection(Access({"server": address}, user))).get("/version")
    assert _Api.asked == []


def test_a_missing_plugin_says_how_to_get_it() -> None:
    user = {"exec": {"apiVersion": V1, "command": "no-such-plugin", "installHint": "Install it with: a\n"}}
    with pytest.raises(UserError, match=r"^its exec plugin no-such-plugin cannot be run: .*; Install it with: a$"):
        Credentials(user, {}).headers()


def test_a_file_of_a_token_is_read_each_time(tmp_path: Path) -> None:
    (file := tmp_path / "token").write_text("first\n")
    credentials = Credentials({"tokenFile": str(file)}, {})
    assert credentials.headers() == [("Authorization", "Bearer first")]
    file.write_text("second\n")
    assert credentials.headers() == [("Authorization", "Bearer second")]


def test_a_user_asks_on_behalf_of_others(address: str) -> None:
    user = {"token": "t", "as": "ada", "as-groups": ["a", "b"], "as-user-extra": {"x/y": ["1"]}}
    Kube(Connection(Access({"server": address}, user))).get("/version")
    ((_, headers),) = _Api.asked
    assert headers.get_all("Impersonate-Group") == ["a", "b"]
    assert (headers["Impersonate-User"], headers["Impersonate-Extra-x%2Fy"]) == ("ada", "1")


def test_an_expired_token_of_a_former_provider_names_the_remedy() -> None:
    claims = base64.urlsafe_b64encode(b'{"exp": 1}').decode().rstrip("=")
    provider = {"name": "oidc", "config": {"id-token": f"a.{claims}.c"}}
    with pytest.raises(UserError, match="the token of auth-provider oidc has expired; renew it with: kubectl"):
        Credentials({"auth-provider": provider}, {}).headers()


@pytest.mark.parametrize(
    ("cluster", "environment", "through"),
    [
        ({}, {}, False),
        ({"proxy-url": "{proxy}"}, {}, True),
        ({}, {"HTTP_PROXY": "{proxy}"}, True),
        ({}, {"HTTP_PROXY": "{proxy}", "NO_PROXY": "10.0.0.0/8"}, False),
        ({"proxy-url": "{proxy}"}, {"NO_PROXY": "10.0.0.0/8"}, True),
    ],
)
def test_the_proxy_is_that_of_the_kubeconfig_or_of_the_environment(
    address: str, monkeypatch: pytest.MonkeyPatch, cluster: dict[str, str], environment: dict[str, str], through: bool
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value.format(proxy=address))
    own = {key: value.format(proxy=address) for key, value in cluster.items()}
    connection = Connection(Access({"server": "http://10.1.2.3:1", **own}, {}), retries=0)
    if through:
        assert Kube(connection, timeout=5).get("/version") == {"major": "1"}
        assert _Api.asked[0][0] == "http://10.1.2.3:1/version"
    else:
        assert connection._proxy() == ""  # nothing answers there


def test_this_machine_is_never_asked_through_a_proxy(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    assert Kube(Connection.to(address)).get("/version") == {"major": "1"}


_WORDS = st.text("abcXYZ019-_.", min_size=1, max_size=12)
_USERS = st.fixed_dictionaries(
    {}, optional={"token": _WORDS, "username": _WORDS, "password": _WORDS, "client-certificate-data": st.just("YQ==")}
)


@hypothesis.given(_USERS)
def test_headers_are_those_of_kubernetes_own_client(user: dict[str, str]) -> None:
    known = {
        "current-context": "c",
        "clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:1"}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "c"}}],
        "users": [{"name": "c", "user": user}],
    }
    theirs: dict[str, str] = {}
    official.new_client_from_config_dict(known).update_params_for_auth(theirs, [], ["BearerToken"])
    assert {name.lower(): value for name, value in Credentials(user, {}).headers()} == theirs
