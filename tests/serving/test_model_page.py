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
import tensorflow as tf
from playwright.sync_api import expect
from sklearn.datasets import load_digits

from tests.serving.server import HalfPlus, Server, running
from tests.support import browser
from tests.support.ports import free_ports
from workloads.manifests import serving_config
from workloads.settings.served_model import ServedModel

ONE, ZERO = (
    [(0.55, 0.05), (0.55, 0.95)],
    [(0.5, 0.1), (0.28, 0.25), (0.25, 0.7), (0.5, 0.9), (0.72, 0.7), (0.72, 0.25), (0.5, 0.1)],
)


class Nearest(tf.Module):  # type: ignore[misc]  # TensorFlow has no types
    """The digit whose mean picture is the nearest."""

    def __init__(self) -> None:
        super().__init__()
        digits = load_digits()
        self.means = tf.constant(
            np.stack([digits.images[digits.target == each].mean(0) for each in range(10)]), "float32"
        )

    @tf.function(input_signature=[tf.TensorSpec([None, 8, 8], tf.float32, name="image")])  # type: ignore[untyped-decorator]
    def scores(self, image: tf.Tensor) -> dict[str, tf.Tensor]:
        distances = tf.reduce_sum((image[:, None] - self.means) ** 2, axis=(2, 3))
        return {"scores": tf.nn.softmax(-distances / 200)}


@pytest.fixture(scope="module")
def served(stubs: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("models")
    models = {name: ServedModel(volume="models", path=name) for name in ("digits", "half")}
    for name in models:
        (folder / name).mkdir()
    config = folder / "models.config"
    config.write_text(serving_config.models({name: str(folder / name) for name in models}, models))
    HalfPlus(3.0).save(folder / "half" / "1")
    nearest = Nearest()
    tf.saved_model.save(nearest, str(folder / "draft"), {"serving_default": nearest.scores})
    (folder / "draft").rename(folder / "digits" / "1")
    with running(stubs, folder, f"--model_config_file={config}") as server:
        server.wait("/v1/models/digits/metadata", 200)
        yield server


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


def test_a_digit_drawn_with_the_mouse_is_classified(served: Server, tmp_path: Path) -> None:
    with _page(served.rest) as url, browser.page(url) as page:
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


def test_a_picture_has_the_ink_of_the_settings(served: Server) -> None:
    with _page(served.rest) as url, browser.page(url) as page:
        expect(page.locator("#canvas")).to_be_visible()
        with page.expect_request("**/v1/models/digits:predict") as asked:
            browser.draw(page, ONE)
        (picture,) = json.loads(asked.value.post_data or "")["instances"]
    assert np.shape(picture) == (8, 8)
    assert np.max(picture) == 16
    assert np.min(picture) == 0
    assert np.sum(picture) == pytest.approx(1.25 * 16 * 8, rel=0.2), "a stroke is a little more than a pixel wide"


def test_another_model_takes_json(served: Server) -> None:
    with _page(served.rest) as url, browser.page(url) as page:
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


def test_it_waits_for_a_server_that_has_no_version_yet(served: Server) -> None:
    (port,) = free_ports(1)
    with _page(f"http://127.0.0.1:{port}") as url, browser.page(url) as page:
        expect(page.locator("#answer.error")).to_contain_text("the model server does not answer")
        expect(page.locator("#canvas")).to_be_hidden()
        with _page(served.rest) as ready:
            page.route("**/v1/**", lambda route: route.fulfill(response=route.fetch(url=_at(ready, route.request.url))))
            expect(page.locator("#canvas")).to_be_visible()


def _at(other: str, url: str) -> str:
    return other + url.split("/", 3)[3]
