"""The site of `make docs`: a reader finds each page by navigation and search, and no link of it leads nowhere."""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.support import browser
from tests.support.rendering import PROJECT

pytestmark = pytest.mark.nightly("installs Sphinx; tests/docs/test_pages.py follows the links without it")

HOST = "https://host.invalid/owner/name"


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What is committed or about to be, elsewhere."""
    folder = tmp_path_factory.mktemp("site") / "checkout"
    listing = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(listing, cwd=PROJECT, capture_output=True, text=True, check=True).stdout
    for name in listed.splitlines():
        source = PROJECT / name
        if source.is_file() and not source.is_symlink():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, folder / name)
    return folder


@pytest.fixture(scope="module")
def site(checkout: Path) -> Path:
    built = _make_docs(checkout, f"REPOSITORY={HOST}", "REF=v1.2.3")
    assert (built.returncode, built.stderr) == (0, "")
    return checkout / "site"


@pytest.fixture(scope="module")
def url(site: Path) -> Iterator[str]:
    """The site on a server that knows nothing but its files, as Pages is one."""
    handler = functools.partial(SimpleHTTPRequestHandler, directory=str(site))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture
def page(url: str) -> Iterator[Page]:
    with browser.page(url) as opened:
        opened.set_viewport_size({"width": 1400, "height": 900})
        yield opened


def _make_docs(checkout: Path, *variables: str) -> subprocess.CompletedProcess[str]:
    # Of this session's make, what it would hand down.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    return subprocess.run(
        ["make", "docs", *variables], cwd=checkout, env=environment, capture_output=True, text=True, check=False
    )


def test_it_starts_with_the_readme_and_lists_the_pages_in_the_order_of_their_list(page: Page) -> None:
    expect(page.locator("h1")).to_have_text(re.compile("tensorplane"))
    listed = re.findall(r"(?m)^- \[[^\]]+\]\((\S+)\.md\):", (PROJECT / "docs/README.md").read_text())
    shown = page.locator(".sidebar-tree .toctree-l1 > a").evaluate_all(
        "all => all.map(one => one.getAttribute('href'))"
    )
    assert shown[: len(listed) + 1] == ["docs/README.html", *(f"docs/{name}.html" for name in listed)]
    settings = page.locator(".sidebar-tree .toctree-l2 > a").count()
    assert settings == len(list((PROJECT / "docs/settings").glob("[a-z]*.md")))
    assert page.locator("article img").evaluate_all("all => all.map(one => one.naturalWidth > 100)") == [True]


def test_a_search_leads_to_the_page(page: Page) -> None:
    page.fill("input[name=q]", "nominal quota borrow")
    page.keyboard.press("Enter")
    page.locator("#search-results a", has_text=re.compile("^Queues$")).click()
    expect(page.locator("h1")).to_have_text(re.compile("Queues"))


def test_a_narrow_window_scrolls_tables_alone(page: Page, url: str) -> None:
    page.set_viewport_size({"width": 420, "height": 800})
    for name in ("docs/", "docs/settings/", "docs/data.html"):
        page.goto(f"{url}/{name}")
        assert page.evaluate("document.documentElement.scrollWidth") <= 420


def test_links_to_files_that_are_no_pages_lead_to_the_repository(site: Path) -> None:
    start = (site / "docs/README.html").read_text()
    assert f'href="{HOST}/blob/v1.2.3/examples/sweep.yaml"' in start
    assert f'href="{HOST}/tree/v1.2.3/examples/ci"' in start
    assert 'href="../CONTRIBUTING.html"' in start
    assert 'href="data.html#restore-and-clone"' in start


def test_each_link_that_leads_nowhere_is_told(checkout: Path, site: Path) -> None:
    wrong = ("data.md#nowhere", "#nowhere", "absent.md", "../driver/absent.py", "absent.svg")
    path = checkout / "docs/files.md"
    path.write_text(f"{path.read_text()}\n" + "".join(f"{'!' * ('svg' in link)}[a]({link})\n" for link in wrong))
    built = _make_docs(checkout)
    assert built.returncode != 0
    assert [link for link in wrong if f"{link.split('#')[-1]}" not in built.stderr] == []
    assert built.stderr.count("WARNING") == len(wrong)
