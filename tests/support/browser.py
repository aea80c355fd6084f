"""Debian's Chromium, which `make tools-test` installs, driven by Playwright."""

from __future__ import annotations

import contextlib
import shutil
import urllib.request
from collections.abc import Iterator

from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.support.waiting import PATIENT_SECONDS, eventually

# Of every `expect`; it only ends tests that fail.
expect.set_options(timeout=PATIENT_SECONDS * 1000)


def answers(url: str) -> None:
    """Returns once the URL answers."""

    def answered() -> bool:
        try:
            with urllib.request.urlopen(url, timeout=PATIENT_SECONDS) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False

    eventually(answered)


@contextlib.contextmanager
def started() -> Iterator[Browser]:
    """A browser without a window. While it runs, nothing else in this thread can run an event loop."""
    program = shutil.which("chromium")
    assert program, "chromium is missing; run `make tools-test`"
    with sync_playwright() as playwright:
        # Chromium's own sandbox does not run as root.
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        try:
            yield browser
        finally:
            browser.close()


@contextlib.contextmanager
def page(url: str, browser: Browser | None = None) -> Iterator[Page]:
    """A page that shares nothing with others, of a browser of its own or this one.

    Errors of the page's program end the test.
    """
    with contextlib.ExitStack() as stack:
        browser = browser or stack.enter_context(started())
        context = stack.enter_context(browser.new_context(viewport={"width": 900, "height": 640}))
        opened = context.new_page()
        opened.set_default_timeout(PATIENT_SECONDS * 1000)
        errors: list[str] = []
        opened.on("pageerror", lambda error: errors.append(str(error)))
        opened.goto(url)
        yield opened
        assert errors == []


def draw(page: Page, *strokes: list[tuple[float, float]]) -> None:
    """Draws on the page's canvas with the mouse. Places of a stroke are parts of the canvas' width and height."""
    box = page.locator("#canvas").bounding_box()
    assert box
    for stroke in strokes:
        places = [(box["x"] + x * box["width"], box["y"] + y * box["height"]) for x, y in stroke]
        page.mouse.move(*places[0])
        page.mouse.down()
        for place in places[1:]:
            page.mouse.move(*place, steps=8)
        page.mouse.up()


SEVEN = [(0.25, 0.1), (0.8, 0.1), (0.4, 0.92)]
"""The stroke of a digit that models of the digits example know."""
