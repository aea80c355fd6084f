"""The page of a pipeline's runs, in a real browser, of Workflows as Argo keeps them."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, cast

import pytest
from playwright.sync_api import Browser, Page, expect

from tensorplane.cli.access import Access
from tensorplane.cli.commands.runs import ask, page
from tensorplane.core.errors import UserError
from tensorplane.core.kube import Kube
from tests.support import browser
from tests.support.pipeline_runs import FIRST, RUN, SECOND, Part, Ran, at, prices, workflow

_DONE = workflow(
    {
        "clean": Ran(0, 70, summary={"parts": 5, "unchanged": 3, "new": 2}, parts={3: Part(5, 40)}, version="e5f6a7"),
        "count": Ran(70, 140, summary={"parts": 1, "new": 1}, parts={0: Part(75, 135)}, version="b2"),
        "embed": Ran(
            70,
            160,
            summary={"parts": 1, "new": 1},
            parts={0: Part(75, 150, "Failed")},
            failure="1 part failed",
        ),
        "report": Ran(160, 160, omitted=True),
    },
    phase="Failed",
    end=160,
)


class Cluster:
    """A cluster with these runs, which may stop to answer."""

    def __init__(self) -> None:
        self.runs: list[dict[str, Any]] = [FIRST, SECOND]
        self.now: datetime = at(130)
        self.answers = True

    def items(self, path: str, **_: str) -> list[dict[str, Any]]:
        if not self.answers:
            raise UserError("The cluster does not answer.")
        return self.runs if path.endswith("/workflows") else []


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Cluster:
    known = prices()
    monkeypatch.setattr(ask, "_settings", lambda _: (known.fleet, {"texts": dict(known.stages)}, ""))
    return Cluster()


@pytest.fixture
def url(cluster: Cluster) -> Iterator[str]:
    access = Access(cast(Kube, cluster), "vision", stack="dev", declared={"texts": {"kind": "pipeline"}})
    with page.serving(page.answers(access, "texts", lambda: cluster.now), None) as (served, _):
        yield served


def _properties(opened: Page) -> dict[str, str]:
    labels, texts = (opened.locator(f"#facts {tag}").all_text_contents() for tag in ("dt", "dd"))
    return dict(zip(labels, texts, strict=True))


def test_a_click_on_a_stage_shows_what_it_is_and_what_it_did(url: str, chromium: Browser, tmp_path: Path) -> None:
    with browser.page(url, chromium) as opened:
        expect(opened.locator("#summary")).to_have_text(f"{RUN}: running for 2 min, about 75 s left, $0.02 so far")
        expect(opened.locator(".stage")).to_have_count(4)
        expect(opened.locator("#details")).to_be_hidden()
        opened.locator(".stage[data-stage=clean]").click()
        expect(opened.locator("#stage")).to_have_text("clean")
        found = _properties(opened)
        assert found["Image"].startswith("registry.example/clean@sha256:")
        assert found["Command"].startswith("sh -c 'cd /in/texts;")
        assert found["Inputs"] == "/in/texts: raw@8c1f2a7be01d, split by file"
        assert found["Output"] == "words@e5f6a7"
        assert found["Skipped"] == "3 of 5 parts: same program, params and input as in an earlier run"
        assert (found["Time"], found["Cost"]) == ("70 s", "<$0.01")
        assert found["Logs"] == f"tensorplane logs {RUN}/clean"
        opened.locator(".stage[data-stage=report]").click()
        expect(opened.locator("#stage")).to_have_text("report")
        assert _properties(opened)["Why"] == "waits for count, embed"
        opened.screenshot(path=tmp_path / "page.png")


def test_it_follows_the_run_without_a_reload_and_keeps_the_chosen_stage(
    url: str, chromium: Browser, cluster: Cluster
) -> None:
    with browser.page(url, chromium) as opened:
        opened.locator(".stage[data-stage=embed]").click()
        expect(opened.locator("#facts dd").first).to_have_text("running")
        blue = opened.locator(".stage[data-stage=embed] rect").get_attribute("fill")
        cluster.runs, cluster.now = [FIRST, _DONE], at(200)
        expect(opened.locator("#facts dd").first).to_have_text("failed")
        expect(opened.locator("#summary")).to_contain_text(f"{RUN}: failed, took 2 min")
        red = opened.locator(".stage[data-stage=embed] rect").get_attribute("fill")
        assert blue != red
        assert opened.title() == f"{RUN}: failed"
        expect(opened.locator(".stage[data-stage=embed]")).to_have_attribute("aria-pressed", "true")


def test_keys_choose_a_stage_and_what_it_says_is_read_aloud(url: str, chromium: Browser) -> None:
    with browser.page(url, chromium) as opened:
        expect(opened.locator(".stage")).to_have_count(4)
        stage = opened.get_by_role("button", name="count: running for 60 s, 40 s left, 1 running")
        stage.focus()
        opened.keyboard.press("Enter")
        expect(opened.locator("#stage")).to_have_text("count")
        expect(opened.locator(".stage[data-stage=count]")).to_be_focused()
        opened.keyboard.press("Tab")
        opened.keyboard.press(" ")
        expect(opened.locator("#stage")).to_have_text("embed")


def test_an_older_run_can_be_looked_at(url: str, chromium: Browser) -> None:
    with browser.page(url, chromium) as opened:
        expect(opened.locator("#run option")).to_have_count(3)
        opened.locator("#run").select_option("texts-1111111111111111")
        expect(opened.locator("#summary")).to_contain_text("texts-1111111111111111: finished, took 6 min")
        expect(opened.locator(".stage[data-stage=report]")).to_contain_text("finished in 20 s")


def test_it_says_when_the_cluster_does_not_answer_and_goes_on(url: str, chromium: Browser, cluster: Cluster) -> None:
    with browser.page(url, chromium) as opened:
        expect(opened.locator(".stage")).to_have_count(4)
        cluster.answers = False
        expect(opened.locator("#error")).to_contain_text("The cluster does not answer.")
        expect(opened.locator(".stage")).to_have_count(4)
        cluster.answers = True
        expect(opened.locator("#error")).to_have_text("")


def test_it_asks_no_other_host(url: str, chromium: Browser) -> None:
    with browser.page("about:blank", chromium) as opened:
        asked: list[str] = []
        opened.on("request", lambda request: asked.append(request.url))
        opened.goto(url)
        expect(opened.locator(".stage")).to_have_count(4)
    assert asked
    assert all(each.startswith(url) for each in asked)


def test_another_site_cannot_read_it_under_its_own_name(url: str) -> None:
    request = urllib.request.Request(f"{url}state", headers={"Host": "evil.example"})
    with pytest.raises(urllib.error.HTTPError, match="403"):
        urllib.request.urlopen(request)
    with urllib.request.urlopen(f"{url}state?run=nothing&stage=nothing") as answer:
        assert json.load(answer)["name"] == RUN
    with pytest.raises(urllib.error.HTTPError, match="404"):
        urllib.request.urlopen(f"{url}nothing")
