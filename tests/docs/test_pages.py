"""The documentation names only what exists: links, headings, files; its settings are accepted."""

import functools
import os
import re
import subprocess
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tensorplane import stack
from tensorplane.cli.commands.settings import reference
from tensorplane.components.base.family import Variant
from tensorplane.components.base.settings import Settings
from tensorplane.components.clusters.settings import ClusterArgs
from tensorplane.components.streams.broker import StreamBroker
from tensorplane.components.volumes import capabilities
from tensorplane.components.volumes.backend import Backend
from tensorplane.components.volumes.checks import rows
from tensorplane.version import __version__
from tensorplane.workloads.family import WorkloadArgs
from tensorplane.workloads.training_job.strategies import Strategy
from tests.policies import recordings
from tests.policies.conftest import Judge, refusals
from tests.policies.conftest import judge as judge
from tests.policies.previews import config_of
from tests.support.documented import PAGES, blocks, on_pages, outside_blocks, texts
from tests.support.rendering import PROJECT, run
from tests.support.snippets import Snippet, snippets

SETTINGS = PROJECT / "docs" / "settings"
SETTINGS_PAGES = reference.pages()

_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_CODE = re.compile(r"`([^`]+)`")


@functools.cache
def slugs(path: Path) -> Sequence[str]:
    """The names under which GitHub's renderer knows a page's headings."""
    headings = re.findall(r"^#+ (.*)$", outside_blocks(path.read_text()), re.MULTILINE)
    return [re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings]


def test_no_heading_repeats_within_a_page() -> None:
    """A link to a repeated heading leads to the first."""
    # The changelog repeats its headings for each version.
    found = [(path, slug) for path in PAGES if path.name != "CHANGELOG.md" for slug in slugs(path)]
    assert [each for each, count in Counter(found).items() if count > 1] == []


def test_the_list_of_pages_has_each_page_once() -> None:
    listed = re.findall(r"^- \[[^\]]+\]\((\S+)\):", (PROJECT / "docs/README.md").read_text(), re.MULTILINE)
    pages = [path.name for path in (PROJECT / "docs").glob("*.md") if path.name != "README.md"]
    assert sorted(listed) == sorted([*pages, "settings/README.md"])


def test_every_link_leads_somewhere() -> None:
    found = [(path, link) for path, text in texts().items() for link in _LINK.findall(outside_blocks(text))]
    assert [each for each in found if "://" not in each[1] and not _is_there(*each)] == []


def _is_there(page: Path, link: str) -> bool:
    name, _, anchor = link.partition("#")
    target = page.parent / name if name else page
    return target.exists() and (not anchor or anchor in slugs(target))


@functools.cache
def top_level() -> set[str]:
    listed = subprocess.run(["git", "ls-files"], cwd=PROJECT, capture_output=True, text=True, check=True).stdout
    return {line.split("/")[0] for line in listed.splitlines() if "/" in line}


def test_every_file_of_the_project_that_is_mentioned_exists() -> None:
    assert on_pages(_absent) == []


def _absent(page: str) -> Iterator[str]:
    said = [*_CODE.findall(outside_blocks(page)), *(block.text for block in blocks(page))]
    words = {word.rstrip(".,:;") for text in said for word in text.split()}
    # What a reader makes, or a command makes, is not there: Pulumi.NAME.yaml. `core/v1:Service` is no file.
    named = {word for word in words if "/" in word and not re.search(r"NAME|config\.mine|results\.json|:", word)}
    yield from sorted(word for word in named if word.split("/")[0] in top_level() and not (PROJECT / word).exists())


@pytest.mark.parametrize("snippet", snippets(), ids=str)
def test_every_snippet_of_settings_is_accepted_in_the_dev_stack(snippet: Snippet, judge: Judge, tmp_path: Path) -> None:
    """By the settings' checks, and by the policies of `make up`; tests/policies asks the engine."""
    tree = snippet.tree(tmp_path)
    made = run(lambda: stack.build(stack.load(Settings(tree, folder=PROJECT))))
    assert made.resources
    assert refusals(judge, recordings.of_rendered(made), config_of(tree)) == {}


@pytest.mark.parametrize("name", SETTINGS_PAGES)
def test_each_page_of_settings_is_the_one_that_the_models_give(name: str) -> None:
    path = SETTINGS / f"{name}.md"
    marker = f"<!-- generated: tensorplane settings {name} -->\n\n"
    written = path.read_text() if path.exists() else f"# Settings: {name}\n\n{marker}"
    introduction, marked, rows = written.partition(marker)
    assert marked
    wanted = SETTINGS_PAGES[name]
    if os.environ.get("UPDATE_GOLDEN"):
        path.write_text(introduction + marker + wanted)
        rows = wanted
    assert rows == wanted, "out of date: UPDATE_GOLDEN=1 python -m pytest tests/docs/test_pages.py"


def test_no_page_of_settings_is_left_over() -> None:
    assert sorted(path.stem for path in SETTINGS.glob("*.md")) == sorted(SETTINGS_PAGES)


def test_no_anchor_of_the_settings_repeats_on_another_page() -> None:
    found = [slug for path in SETTINGS.glob("*.md") for slug in slugs(path)]
    assert len(found) > 50
    assert sorted({slug for slug in found if found.count(slug) > 1}) == []


def test_the_settings_explain_every_key() -> None:
    rows = [line for page in SETTINGS_PAGES.values() for line in page.splitlines() if line.startswith("| `")]
    assert len(rows) > 30
    assert [row for row in rows if len(row.split(" | ")[3].strip(" |")) < 10] == []


@pytest.mark.parametrize("family", [ClusterArgs, Backend, Strategy, WorkloadArgs], ids=lambda family: family.__name__)
def test_every_kind_has_a_section(family: type[Variant]) -> None:
    assert family.variants
    for kind in family.variants:
        assert re.search(rf"^## .*, kind {kind}$", "".join(SETTINGS_PAGES.values()), re.MULTILINE), kind


def test_the_changelog_has_this_version() -> None:
    text = (PROJECT / "CHANGELOG.md").read_text()
    assert re.search(rf"^## {re.escape(__version__)}\b", text, re.MULTILINE)
    assert "## Unreleased" in text


def test_no_page_names_a_machine() -> None:
    assert on_pages(re.compile(r"/root/|/work/|/tmp/w/").findall) == []


def test_the_matrix_of_the_backends_is_the_one_that_they_declare() -> None:
    path = PROJECT / "docs" / "data.md"
    before, rest = path.read_text().split("<!-- generated: the capability matrix -->\n\n")
    written, after = rest.split("\n\n<!-- end of the capability matrix -->")
    wanted = capabilities.tables(rows())
    if os.environ.get("UPDATE_GOLDEN"):
        marks = ("<!-- generated: the capability matrix -->\n\n", "\n\n<!-- end of the capability matrix -->")
        path.write_text(before + marks[0] + wanted + marks[1] + after)
        written = wanted
    assert written == wanted, "out of date: UPDATE_GOLDEN=1 python -m pytest tests/docs/test_pages.py"


def test_the_pages_say_of_each_kind_whether_this_project_has_run_it() -> None:
    """As the classes do, from which the settings' pages have it."""
    table = (
        (PROJECT / "docs" / "README.md")
        .read_text()
        .partition("What this project has run of the kinds")[2]
        .partition("\n\n- ")[0]
    )
    cells = [line.strip("|").split("|") for line in table.splitlines() if line.startswith("| `")]
    for column, families in ((0, (ClusterArgs,)), (2, (Backend, StreamBroker))):
        said = {kind: row[column + 1].strip().startswith("yes") for row in cells for kind in _CODE.findall(row[column])}
        ran = {kind: not variant.untried for family in families for kind, variant in family.variants.items()}
        assert said == ran
    sentence = re.search(r"This project has run (.*?);", (PROJECT / "docs" / "data.md").read_text())
    assert sentence
    assert _CODE.findall(sentence[1]) == [kind for kind, variant in Backend.variants.items() if not variant.untried]


def test_the_architecture_has_every_package_of_the_repository() -> None:
    page = (PROJECT / "docs" / "architecture.md").read_text()
    packages = page[page.index("## Packages") : page.index("## From a setting")]
    assert sorted(folder for folder in top_level() - {".ci", ".github"} if f"](../{folder})" not in packages) == []


def test_the_readme_is_short_and_its_program_is_that_of_the_page_on_jobs() -> None:
    readme, page = ((PROJECT / name).read_text() for name in ("README.md", "docs/running-jobs.md"))
    assert len(readme.splitlines()) <= 100
    (program,) = (block.text for block in blocks(readme) if block.language == "python")
    assert program == next(block.text for block in blocks(page) if block.language == "python")


def test_each_decision_has_a_context_alternatives_and_consequences_in_twelve_lines() -> None:
    _, *sections = re.split(r"(?m)^## ", (PROJECT / "docs" / "decisions.md").read_text())
    decisions = {title: text for title, _, text in (section.partition("\n") for section in sections[:-1])}
    assert len(decisions) >= 10
    parts = re.compile(r"\n- \*\*Context\.\*\* .*\n- \*\*Alternatives\.\*\* .*\n- \*\*Consequences\.\*\* ", re.DOTALL)
    assert [title for title, text in decisions.items() if not parts.search(text)] == []
    assert [title for title, text in decisions.items() if len(text.strip().splitlines()) > 12] == []
