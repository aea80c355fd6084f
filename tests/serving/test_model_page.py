"""The web page of a model server, in a real browser, in front of the stand-in."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser, expect

from tests.serving.server import Server
from tests.support import browser
from tests.support.ports import free_ports

ONE, ZERO = (
    [(0.55, 0.05), (0.55, 0.95)],
    [(0.5, 0.1), (0.28, 0.25), (0.25, 0.7), (0.5, 0.9), (0.72, 0.7), (0.72, 0.25), (0.5, 0.1)],
)


@contextlib.contextmanager
def _page(server: str) -> Iterator[str]:
    """The URL of the page in front of a server."""
    (port,) = free_ports(1)
    settings = json.dumps({"models": ["digits", "half"], "ink": 16})
    words = [sys.executable, "-m", "agents.model_page", str(port), server, settings]
    process = subprocess.Popen(words, cwd=Path(__file__).parents[2])
    try:
        browser.answers(url := f"http://127.0.0.1:{port}/")
        yield url
    finally:
        process.kill()
        process.wait()


def test_a_digit_drawn_with_the_mouse_is_classified(server: Server, chromium: Browser, tmp_path: Path) -> None:
    with _page(server.rest) as url, browser.page(url, chromium) as page:
        expect(page.locator("#signature")).to_have_text("image: float (any, 8, 8) → scores: float (any, 10)")
        expect(page.locator("#version")).to_have_text("version 1")
        for digit, strokes in (("7", browser.SEVEN), ("1", ONE), ("0", ZERO)):
            browser.draw(page, strokes)
            expect(page.locator("#answer")).to_have_text(digit)
            expect(page.locator("#scores tr.best td").first).to_have_text(digit)
            expect(page.locator("#scores tr")).to_have_count(10)
            page.screenshot(path=tmp_path / f"{digit}.png")
            page.locator("#clear").click()
            expect(page.locator("#answer")).to_have_text("")


def test_a_picture_has_the_ink_of_the_settings(server: Server, chromium: Browser) -> None:
    with _page(server.rest) as url, browser.page(url, chromium) as page:
        expect(page.locator("#canvas")).to_be_visible()
        with page.expect_request("**/v1/models/digits:predict") as asked:
            browser.draw(page, ONE)
        (picture,) = json.loads(asked.value.post_data or "")["instances"]
    assert np.shape(picture) == (8, 8)
    assert np.max(picture) == 16
    assert np.min(picture) == 0
    assert np.sum(picture) == pytest.approx(1.25 * 16 * 8, rel=0.2), "a stroke is a little more than a pixel wide"


def test_another_model_takes_json(server: Server, chromium: Browser) -> None:
    with _page(server.rest) as url, browser.page(url, chromium) as page:
        page.locator("#model").select_option("half")
        request, answer = page.locator("#request"), page.locator("#raw")
        expect(request).to_have_value('{\n "instances": [\n  0\n ]\n}')
        request.fill('{"instances": [4.0, 6]}')
        page.locator("#send").click()
        expect(answer).to_have_text(json.dumps({"predictions": [5, 6]}, indent=1))
        request.fill('{"instances": ["text"]}')
        page.locator("#send").click()
        expect(page.locator("#answer.error")).not_to_be_empty()
        expect(answer).to_be_hidden()


def test_it_waits_for_a_server_that_has_no_version_yet(server: Server, chromium: Browser) -> None:
    (port,) = free_ports(1)
    with _page(f"http://127.0.0.1:{port}") as url, browser.page(url, chromium) as page:
        expect(page.locator("#answer.error")).to_contain_text("the model server does not answer")
        expect(page.locator("#canvas")).to_be_hidden()
        with _page(server.rest) as ready:
            page.route("**/v1/**", lambda route: route.fulfill(response=route.fetch(url=_at(ready, route.request.url))))
            expect(page.locator("#canvas")).to_be_visible()


def _at(other: str, url: str) -> str:
    return other + url.split("/", 3)[3]
