"""The site that `make docs` builds: which files are pages, their order, and where links to all other files lead."""

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx

PROJECT = Path(__file__).resolve().parents[1]
REPOSITORY = os.environ.get("REPOSITORY", "")
"""The repository's page, such as https://HOST/OWNER/NAME. Without it, links to files lead into this checkout."""
REF = os.environ.get("REF") or "main"
"""The tag, branch or commit of the files that links lead to."""
_OF_PROJECT = ("CHANGELOG", "CONTRIBUTING", "CODE_OF_CONDUCT", "SECURITY")
"""Pages beside the README, after those of docs/README.md."""

project = "tensorplane"
version = re.findall(r'__version__ = "(.+)"', (PROJECT / "runtime/tensorplane/version.py").read_text())[0]
root_doc = "README"
include_patterns = ["README.md", *(f"{name}.md" for name in _OF_PROJECT), "docs/**.md"]
# The checkout's other folders have many files, and none that is a page.
exclude_patterns = [path.name for path in PROJECT.iterdir() if path.is_dir() and path.name != "docs"]

extensions = ["myst_parser", "sphinxcontrib.mermaid"]
nitpicky = True
myst_heading_anchors = 6
myst_fence_as_directive = ["mermaid"]
# Browsers fetch it from the extension's CDN; without a network, they show a diagram's text.
mermaid_version = "11.17.2"
mermaid_fullscreen = False

smartquotes = False  # `--option` stays as it is written

html_theme = "furo"
html_title = f"tensorplane {version}"
html_copy_source = False
html_show_sphinx = False
html_theme_options = {"navigation_with_keys": True}


def setup(app: Sphinx) -> None:
    """Called by Sphinx."""
    app.connect("source-read", _add_navigation)
    # Before Sphinx collects what readers can download.
    app.connect("doctree-read", _link_to_repository, priority=100)
    app.connect("build-finished", _add_start_pages)


def _add_navigation(_: Sphinx, page: str, source: list[str]) -> None:
    """The pages in the order of docs/README.md, under its headings."""
    if page == root_doc:
        source[0] += "".join(_toctree(caption, pages) for caption, pages in _sections())
    elif page == "docs/settings/README":
        source[0] += _toctree("", sorted(path.stem for path in (PROJECT / "docs/settings").glob("[a-z]*.md")))


def _sections() -> Iterator[tuple[str, list[str]]]:
    for section in re.split(r"(?m)^##? ", (PROJECT / "docs/README.md").read_text())[1:]:
        heading, _, text = section.partition("\n")
        pages = [f"docs/{name}" for name in re.findall(r"(?m)^- \[[^\]]+\]\((\S+)\.md\)", text)]
        # The first one's heading is the title of the page itself.
        yield (heading, pages) if heading != "Documentation" else ("", ["docs/README", *pages])
    yield "Project", list(_OF_PROJECT)


def _toctree(caption: str, pages: list[str]) -> str:
    return "\n".join(("\n\n```{toctree}", ":hidden:", f":caption: {caption}" if caption else "", "", *pages, "```\n"))


def _link_to_repository(app: Sphinx, page: nodes.document) -> None:
    """Links to files and folders that are no pages lead to the repository. One to nothing stays and fails the build."""
    pages, folder = app.env.found_docs, (PROJECT / app.env.docname).parent
    for link in [*page.findall(addnodes.download_reference), *page.findall(addnodes.pending_xref)]:
        target = link["reftarget"]
        is_page = link["refdomain"] == "doc"
        path = PROJECT / f"{target}.md" if is_page else Path(os.path.normpath(folder / target))
        if path.exists() and not (is_page and target in pages):
            link.replace_self(nodes.reference("", "", *link.children, refuri=_address(app, path)))


def _address(app: Sphinx, path: Path) -> str:
    if not REPOSITORY:
        return os.path.relpath(path, (Path(app.outdir) / app.env.docname).parent)
    return f"{REPOSITORY}/{'tree' if path.is_dir() else 'blob'}/{REF}/{path.relative_to(PROJECT)}"


def _add_start_pages(app: Sphinx, problem: Exception | None) -> None:
    """What a server shows for a folder: its README."""
    for page in () if problem else Path(app.outdir).rglob("README.html"):
        shutil.copyfile(page, page.with_name("index.html"))
