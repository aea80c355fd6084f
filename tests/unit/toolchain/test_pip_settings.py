"""Packages come from where pip's configuration says, by uv where it has the same setting."""

from __future__ import annotations

import pytest

from tensorplane.toolchain import pip_settings


@pytest.mark.parametrize(
    ("listed", "variables"),
    [
        ("", {}),
        ("global.index-url='https://index.example/simple'\n", {"UV_DEFAULT_INDEX": "https://index.example/simple"}),
        (
            "global.index-url='https://old.example'\n:env:.index-url='https://new.example'\n",
            {"UV_DEFAULT_INDEX": "https://new.example"},
        ),
        ("install.find-links='/a /b'\n:env:.cert='/ca.pem'\n", {"UV_FIND_LINKS": "/a,/b", "SSL_CERT_FILE": "/ca.pem"}),
        ("global.progress-bar='off'\nfreeze.timeout='3'\n", {}),
    ],
    ids=["none", "index", "last-counts", "folders-and-certificate", "no-matter"],
)
def test_settings_of_pip_are_those_of_uv(listed: str, variables: dict[str, str]) -> None:
    assert pip_settings.for_uv(listed) == variables


@pytest.mark.parametrize("key", ["extra-index-url", "constraint", "client-cert", "require-hashes", "no-such-key"])
def test_a_setting_without_an_equal_leaves_the_installation_to_pip(key: str) -> None:
    assert pip_settings.for_uv(f"global.index-url='https://index.example'\nglobal.{key}='x'\n") is None


def test_pip_itself_installs_where_uv_cannot() -> None:
    command, variables = pip_settings.installer("/venv/bin/python", "global.constraint='c.txt'\n")
    assert (command[:4], variables) == (["/venv/bin/python", "-m", "pip", "install"], {})
    command, variables = pip_settings.installer("/venv/bin/python", "global.timeout='9'\n")
    assert (command[1:4], variables) == (["-m", "uv", "pip"], {"UV_HTTP_TIMEOUT": "9"})
    assert command[-2:] == ["--python", "/venv/bin/python"]
