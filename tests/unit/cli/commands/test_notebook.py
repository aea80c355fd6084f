"""`tensorplane notebook --open`: the token does not get into the arguments of the browser."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

import pytest

from tensorplane.cli.commands.notebook import command as notebook


def test_the_browser_is_led_to_the_address_by_a_page_that_others_cannot_read(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    with notebook._in_browser("http://127.0.0.1:8888/lab?token=abc&x=1"):
        (address,) = opened
        assert "abc" not in address
        page = Path(url2pathname(urlsplit(address).path))
        assert "url=http://127.0.0.1:8888/lab?token=abc&amp;x=1" in page.read_text()
        assert page.parent.stat().st_mode & 0o077 == 0
    assert not page.exists()
