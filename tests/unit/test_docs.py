"""The documentation names only what exists: links, headings, files, make targets; its settings are accepted."""

import argparse
import os
import re
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

import stack
from cli import __main__ as command_line
from cli import settings_reference
from components.cluster import ClusterArgs
from components.family import Variant
from components.settings import Settings
from components.volume import capabilities
from components.volume.backend import Backend
from components.volume.check import rows
from tests.unit.rendering import PROJECT, Render, settings_of
from workloads import WorkloadArgs
from workloads.strategies import Strategy

PAGES = [PROJECT / "README.md", PROJECT / "CHANGELOG.md", *sorted((PROJECT / "docs").glob("*.md"))]
GENERATED = "<!-- generated: tensorplane settings -->\n\n"

page = pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(PROJECT)))

_BLOCK = re.compile(r"^( *)```(.*)\n((?:.*\n)*?)\1```$", re.MULTILINE)
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_CODE = re.compile(r"`([^`]+)`")
_TARGET = re.compile(r"(?:^|[^\w-])make ([a-z][a-z-]*)")


def outside_blocks(text: str) -> str:
    return _BLOCK.sub("", text)


def blocks(text: str) -> Iterator[tuple[str, str]]:
    """Each code block, as what is written behind its fence, and its content without the indentation."""
    for indentation, info, content in _BLOCK.findall(text):
        yield info, re.sub(f"^{indentation}", "", content, flags=re.MULTILINE)


def anchors(path: Path) -> set[str]:
    """The names under which GitHub's renderer knows a page's headings."""
    return set(slugs(path))


def slugs(path: Path) -> list[str]:
    headings = re.findall(r"^#+ (.*)$", outside_blocks(path.read_text()), re.MULTILINE)
    return [re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings]


@page
def test_no_heading_repeats_within_a_page(path: Path) -> None:
    """A link to a repeated heading leads to the first."""
    # The changelog repeats its headings for each version.
    found = slugs(path) if path.name != "CHANGELOG.md" else []
    assert sorted({slug for slug in found if found.count(slug) > 1}) == []


@page
def test_every_link_leads_somewhere(path: Path) -> None:
    dead = []
    for link in _LINK.findall(outside_blocks(path.read_text())):
        if "://" in link:
            continue
        name, _, anchor = link.partition("#")
        target = path.parent / name if name else path
        if not target.exists() or (anchor and anchor not in anchors(target)):
            dead.append(link)
    assert not dead


def top_level() -> set[str]:
    listed = subprocess.run(["git", "ls-files"], cwd=PROJECT, capture_output=True, text=True, check=True).stdout
    return {line.split("/")[0] for line in listed.splitlines() if "/" in line}


@page
def test_every_file_of_the_project_that_is_mentioned_exists(path: Path) -> None:
    folders = top_level()
    said = [word for code in _CODE.findall(outside_blocks(path.read_text())) for word in code.split()]
    said += [word for _, content in blocks(path.read_text()) for word in content.split()]
    mentioned = {
        word.rstrip(".,:;")
        for word in said
        # What a reader makes, or a command makes, is not there: Pulumi.NAME.yaml, policies/.venv.
        if word.split("/")[0] in folders
        and "/" in word
        and not re.search(r"NAME|/\.venv|config\.mine|results\.json", word)
    }
    assert sorted(word for word in mentioned if not (PROJECT / word).exists()) == []


@page
def test_every_make_target_that_is_mentioned_exists(path: Path) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (PROJECT / "Makefile").read_text(), re.MULTILINE))
    text = path.read_text()
    code = [*_CODE.findall(outside_blocks(text)), *(content for _, content in blocks(text))]
    assert sorted({target for part in code for target in _TARGET.findall(part)} - targets) == []


def snippets() -> list[Any]:
    """Every block of settings. One that names files which only a reader has is marked: ```yaml fragment."""
    found: list[Any] = []
    for path in PAGES:
        for info, content in blocks(path.read_text()):
            # What is meant for kubectl is tried where it is meant to run.
            if info.startswith("yaml") and not content.startswith("apiVersion:"):
                found.append(pytest.param(content, info == "yaml fragment", id=f"{path.stem}-{len(found)}"))
    return found


def overlaid(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """One tree of settings over another, as a reader would write them into one file."""
    merged = dict(below)
    for key, value in above.items():
        under = merged.get(key)
        merged[key] = overlaid(under, value) if isinstance(under, Mapping) and isinstance(value, Mapping) else value
    return merged


@pytest.mark.parametrize(("content", "is_fragment"), snippets())
def test_every_snippet_of_settings_is_accepted_in_the_dev_stack(
    content: str, is_fragment: bool, render: Render, tmp_path: Path
) -> None:
    written = tmp_path / "Pulumi.snippet.yaml"
    written.write_text(content)
    tree = settings_of(written).tree
    if is_fragment:
        for workload in tree["workloads"].values():
            workload.pop("files", None)
    whole = overlaid(settings_of(PROJECT / "Pulumi.dev.yaml").tree, tree)
    assert render(lambda: stack.build(stack.StackConfig.load(Settings(whole)))).resources


def test_the_reference_of_the_settings_is_the_one_that_the_models_give() -> None:
    path = PROJECT / "docs" / "settings.md"
    introduction, marker, written = path.read_text().partition(GENERATED)
    assert marker
    wanted = settings_reference.render()
    if os.environ.get("UPDATE_GOLDEN"):
        path.write_text(introduction + marker + wanted)
        written = wanted
    assert written == wanted, "out of date: UPDATE_GOLDEN=1 python -m pytest tests/unit/test_docs.py"


def test_the_reference_explains_every_key() -> None:
    rows = [line for line in settings_reference.render().splitlines() if line.startswith("| `")]
    assert len(rows) > 30
    assert [row for row in rows if len(row.split(" | ")[3].strip(" |")) < 10] == []


@pytest.mark.parametrize("family", [ClusterArgs, Backend, Strategy, WorkloadArgs], ids=lambda family: family.__name__)
def test_every_kind_has_a_section(family: type[Variant]) -> None:
    assert family.variants
    for kind in family.variants:
        assert re.search(rf"^## .*, kind {kind}$", settings_reference.render(), re.MULTILINE), kind


def test_the_changelog_has_this_version() -> None:
    text = (PROJECT / "CHANGELOG.md").read_text()
    version = re.search(r'^version = "(.+)"$', (PROJECT / "pyproject.toml").read_text(), re.MULTILINE)
    assert version
    assert re.search(rf"^## {re.escape(version[1])}\b", text, re.MULTILINE)
    assert "## Unreleased" in text


@page
def test_no_page_names_a_machine(path: Path) -> None:
    assert not re.search(r"/root/|/work/|/tmp/w/", path.read_text())


def test_the_matrix_of_the_backends_is_the_one_that_they_declare() -> None:
    path = PROJECT / "docs" / "data.md"
    before, rest = path.read_text().split("<!-- generated: the capability matrix -->\n\n")
    written, after = rest.split("\n\n<!-- end of the capability matrix -->")
    wanted = capabilities.tables(rows())
    if os.environ.get("UPDATE_GOLDEN"):
        marks = ("<!-- generated: the capability matrix -->\n\n", "\n\n<!-- end of the capability matrix -->")
        path.write_text(before + marks[0] + wanted + marks[1] + after)
        written = wanted
    assert written == wanted, "out of date: UPDATE_GOLDEN=1 python -m pytest tests/unit/test_docs.py"


def test_the_readme_has_every_package_of_the_repository() -> None:
    tree = next(content for _, content in blocks((PROJECT / "README.md").read_text()) if content.startswith("Pulumi"))
    assert sorted(folder for folder in top_level() - {".ci"} if f"{folder}/" not in tree) == []


@page
def test_every_command_of_tensorplane_that_is_mentioned_is_one(path: Path) -> None:
    parser = command_line._parser()
    [commands] = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    text = path.read_text()
    code = [*_CODE.findall(outside_blocks(text)), *(content for _, content in blocks(text))]
    said = [line for part in code for line in part.splitlines() if re.match(r"(\.venv/bin/)?tensorplane [a-z-]", line)]
    unknown = []
    for line in said:
        command, *rest = line.split("#")[0].split()[1:]
        flags = {word.split("=")[0] for word in rest if word.startswith("--")}
        if command != "--help" and not (
            command in commands.choices and flags <= set(commands.choices[command]._option_string_actions)
        ):
            unknown.append(line)
    assert unknown == []
