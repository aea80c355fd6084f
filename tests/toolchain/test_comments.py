"""Comments on pull requests: one, with the beginning of each report, however long the reports are."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml

from tensorplane.cli.commands.preview import render
from tensorplane.cli.commands.preview.report import Change, PolicyResult, Property, Report
from tensorplane.cli.commands.preview.section import SEPARATOR
from tensorplane.core.paths import PROJECT
from tensorplane.driver.update.data_at_risk import Risk
from tests.support import forges

CI = PROJECT / "examples" / "ci"
GITLAB = CI / "gitlab-ci.yml"
PUT_TOGETHER, POST = (
    step["run"]
    for step in yaml.safe_load((CI / "github/preview-comment.yml").read_text())["jobs"]["comment"]["steps"]
    if "run" in step
)
TAKEN = 65_536
"""Characters that GitHub takes."""
LOSS, LONGER = "This check fails", "Longer than this comment: "


@functools.cache
def _report(stack: str, resources: int, text: str = "a" * 40, *, loses: bool = False) -> str:
    """A report with this many resources that differ."""
    properties = (Property(f"spec.{index}", text, "b", replaces=False) for index in range(resources))
    changes = tuple(Change("update", "apps/v1:Deployment", f"server-{each.path}", (each,)) for each in properties)
    risk = Risk("volume models is deleted; add `acknowledge: {deleteVolume: [models]}`", stops_update=True)
    risks = (risk,) if loses else ()
    refused = (PolicyResult("gpu-quota", "tensorplane 0.1.0", "mandatory", (f"the quota of {stack} is 0",)),)
    return render.markdown(Report(stack, changes, policy_results=refused, risks=risks, warnings=(text,), failed=True))


def put_together(folder: Path) -> str:
    """Runs the step that writes the comment."""
    subprocess.run([sys.executable, "-c", PUT_TOGETHER], cwd=folder, check=True)
    return (folder / "body.md").read_text()


def _comment(folder: Path, reports: Mapping[str, str | None]) -> str:
    for stack, report in reports.items():
        (made := folder / f"reports/preview-{stack}").mkdir(parents=True)
        if report is not None:
            (made / "preview.md").write_text(report)
    return put_together(folder)


SIZES = {
    "short": {"prod": 3, "staging": 3},
    "one": {"prod": 600},
    "prod": {"prod": 600, "staging": 3},
    "both": {"prod": 300, "staging": 600},
    "seven": {f"stack-{number}": 100 * number for number in range(7)},
}
"""Resources by stack."""


@pytest.mark.parametrize("forge", forges.FORGES)
@pytest.mark.parametrize(
    ("sizes", "text"),
    [
        *((name, "a" * 40) for name in SIZES),
        *(("both", text) for text in ("</details>", "```", "<details>", "\n\n# x")),
    ],
)
def test_each_environments_beginning_is_seen_whatever_the_sizes(
    sizes: str, text: str, forge: str, tmp_path: Path
) -> None:
    reports = {stack: _report(stack, size, text, loses=True) for stack, size in SIZES[sizes].items()}
    body = _comment(tmp_path, reports)
    page = forges.page(forge, body)
    assert len(body.encode()) < TAKEN
    assert (page.wrong, page.unclosed) == ([], [])
    for stack, report in reports.items():
        assert report.split(SEPARATOR)[0].strip() in body
        assert f"the quota of {stack} is 0" in page.open_text
        longer = page.open_text.partition(LONGER)[2].partition(". preview.md")[0]
        assert (stack in longer.split(", ")) == _cut(report, body)
    assert page.open_text.count(LONGER) == any(_cut(report, body) for report in reports.values())
    assert page.open_text.count("This update is refused: it would lose data.") == len(reports)


def _cut(report: str, body: str) -> bool:
    return any(part.strip() not in body for part in report.split(SEPARATOR))


@pytest.mark.parametrize("forge", forges.FORGES)
def test_a_report_without_places_to_cut_is_shown_as_text(forge: str, tmp_path: Path) -> None:
    foreign = "# Preview\n\n<details><summary>all</summary>\n\n" + "````\n</details>\n" * 10_000
    page = forges.page(forge, body := _comment(tmp_path, {"old": foreign, "prod": _report("prod", 3, loses=True)}))
    assert len(body.encode()) < TAKEN
    assert (page.wrong, page.unclosed, page.tags.count("details")) == ([], [], 1)
    assert LOSS in page.open_text
    assert LONGER in page.open_text


@pytest.mark.parametrize("odd", ["prod", "staging"])
def test_the_one_image_of_another_registry_among_a_thousand_is_at_the_beginning(odd: str, tmp_path: Path) -> None:
    jobs = {f"job-{n:03}": ({"image": "a.example/x:1"}, {"image": f"a.example/x:2-{n}"}) for n in range(1000)}
    moved = {**jobs, "job-617": ({"image": "a.example/x:1"}, {"image": "b.example/x:2"})}
    reports = {
        stack: render.markdown(
            Report(stack, components={"tensorplane:index:TrainingJob": moved if stack == odd else jobs})
        )
        for stack in ("prod", "staging")
    }
    body = _comment(tmp_path, reports)
    part = body.partition(f"# Preview of stack `{odd}`\n")[2]
    first = part.partition("## What changes")[2].strip().splitlines()[0]
    assert first.startswith(
        "- training job **job-617**: **image from another registry**: a.example/x:1 → b.example/x:2"
    )
    assert body.index(first) < 8_000 * 2


def test_rows_that_are_left_out_are_counted_in_their_place(tmp_path: Path) -> None:
    body = _comment(tmp_path, {"prod": _report("prod", 600), "staging": _report("staging", 300)})
    for stack, size in (("prod", 600), ("staging", 300)):
        part = body.partition(f"# Preview of stack `{stack}`, continued")[2].partition("# Preview of stack")[0]
        table = part.partition("## Every changed resource")[2]
        shown = sum(row.startswith("| update ") for row in table.splitlines())
        assert f"**{size - shown:,} more rows: preview.md in the artifacts of the run**" in table


def test_an_environment_without_a_report_is_named(tmp_path: Path) -> None:
    body = _comment(tmp_path, {"prod": None, "staging": _report("staging", 1)})
    assert "# Preview of stack `prod`\n\n**It ended without a report: see its workflow run.**" in body


class GitHub:
    """A stand-in for `gh`, which keeps what it was told."""

    def __init__(self, folder: Path, *, known: str = "", head: str = "abc") -> None:
        self.folder = folder
        (folder / "reports/preview-prod").mkdir(parents=True)
        (folder / "bin").mkdir()
        program = folder / "bin/gh"
        program.write_text(
            f'#!/bin/bash\necho "$*" >>{folder}/calls\n'
            f"case \"$*\" in *pulls/*) echo {head} ;; *--paginate*) echo '{known}' ;; esac\n"
        )
        program.chmod(0o755)

    def post(self, report: str, number: str = "7") -> subprocess.CompletedProcess[str]:
        """Runs the steps."""
        (self.folder / "reports/preview-prod/preview.md").write_text(report)
        (self.folder / "reports/preview-prod/number").write_text(f"{number}\n")
        path = f"{self.folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
        given = {**os.environ, "PATH": path, "REPOSITORY": "acme/stacks", "HEAD": "abc", "GH_TOKEN": "t"}
        put_together(self.folder)
        command = ["bash", "-e", "-o", "pipefail", "-c", POST]
        return subprocess.run(command, cwd=self.folder, env=given, capture_output=True, text=True)

    @property
    def last(self) -> str:
        return (self.folder / "calls").read_text().splitlines()[-1]


@pytest.mark.parametrize(
    ("known", "asked"),
    [
        ("", "api --method POST repos/acme/stacks/issues/7/comments --field body=@body.md --silent"),
        ("42", "api --method PATCH repos/acme/stacks/issues/comments/42 --field body=@body.md --silent"),
    ],
)
def test_one_comment_is_posted_and_then_updated(known: str, asked: str, tmp_path: Path) -> None:
    github = GitHub(tmp_path, known=known)
    assert github.post("# Preview of stack `prod`\n").returncode == 0
    assert github.last == asked
    assert (tmp_path / "body.md").read_text() == "<!-- tensorplane preview -->\n\n# Preview of stack `prod`\n"


def test_a_report_of_another_commit_or_of_no_pull_request_is_not_posted(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    superseded = GitHub(tmp_path / "a", head="def")
    assert superseded.post("# Preview").stdout == "superseded\n"
    assert "comments" not in superseded.last
    forged = GitHub(tmp_path / "b").post("# Preview", number="7/../../x")
    assert (forged.returncode, forged.stdout) == (1, "the report names no pull request\n")


def _gitlab(folder: Path, report: str, notes: str, **given: str) -> list[str]:
    """Runs the script that posts to GitLab; what it asks of the API."""
    program = folder / "bin/curl"
    program.parent.mkdir(exist_ok=True)
    program.write_text(f'#!/bin/bash\necho "$*" >>calls\ncase "$*" in *--request*) ;; *) echo \'{notes}\' ;; esac\n')
    program.chmod(0o755)
    (folder / "preview.md").write_text(report)
    (script,) = yaml.safe_load(GITLAB.read_text())["preview"]["after_script"]
    known = {"CI_API_V4_URL": "https://api", "CI_PROJECT_ID": "7", "CI_MERGE_REQUEST_IID": "3", "STACK": "prod"}
    path = os.pathsep.join([str(program.parent), os.environ["PATH"]])
    subprocess.run(["bash", "-c", script], cwd=folder, env={**known, "PATH": path, **given}, check=True)
    return (folder / "calls").read_text().splitlines() if (folder / "calls").exists() else []


@pytest.mark.parametrize(
    ("notes", "asked"),
    [
        ("[]", "--request POST --header PRIVATE-TOKEN: t --data-urlencode body@body.md https://api/notes"),
        (
            '[{"id": 41, "body": "looks good"}, {"id": 42, "body": "<!-- tensorplane preview of prod -->\\n# Before"}]',
            "--request PUT --header PRIVATE-TOKEN: t --data-urlencode body@body.md https://api/notes/42",
        ),
    ],
    ids=["posted", "updated"],
)
def test_gitlab_gets_one_note_of_each_environment(notes: str, asked: str, tmp_path: Path) -> None:
    report = "# Preview of stack `prod`\n"
    assert _gitlab(tmp_path, report, notes) == [], "a fork has no token"
    _, call = _gitlab(tmp_path, report, notes, COMMENT_TOKEN="t")
    expected = asked.replace("/notes", "/projects/7/merge_requests/3/notes")
    assert call.removeprefix("--fail --silent --show-error --output /dev/null ") == expected
    assert (tmp_path / "body.md").read_text() == f"<!-- tensorplane preview of prod -->\n{report}"


def test_of_a_report_that_is_too_long_gitlab_and_the_summary_get_the_beginning(tmp_path: Path) -> None:
    report = _report("prod", 3, loses=True) + f"<details><summary>x</summary>\n\n{'a' * 1_000_000}\n\n</details>\n"
    _gitlab(tmp_path, report, "[]", COMMENT_TOKEN="t")
    step = yaml.safe_load((CI / "github/preview.yml").read_text())["jobs"]["preview"]["steps"][-2]
    given = {**os.environ, "NUMBER": "7", "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md")}
    (tmp_path / "short.md").unlink()
    subprocess.run(["bash", "-e", "-c", step["run"]], cwd=tmp_path, env=given, check=True)
    for shown in (forges.page("gitlab", (tmp_path / name).read_text()) for name in ("body.md", "summary.md")):
        assert (shown.wrong, shown.unclosed, shown.tags.count("details")) == ([], [], 0)
        assert LOSS in shown.open_text
        assert "This report is longer" in shown.open_text
    assert (tmp_path / "report/preview.md").read_text() == report
