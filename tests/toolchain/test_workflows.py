"""The files of examples/ci and .github are valid, pin what they use, call what exists, and post one comment."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from embedded.paths import PROJECT
from embedded.step import Step
from embedded.toolchain import go_build
from embedded.toolchain.go_module import GoModule
from embedded.toolchain.golang import MODULES
from tests.support.checked_commands import problems
from tests.support.documented import parsed

CI = PROJECT / "examples" / "ci"
WORKFLOWS = sorted((CI / "github").glob("*.yml"))
OURS = sorted((PROJECT / ".github" / "workflows").glob("*.yml"))
GITLAB = CI / "gitlab-ci.yml"
BUILT = pytest.mark.nightly("builds actionlint, half a minute; the published schemas tell most of it")
_SCHEMAS = {"github-workflows": [*WORKFLOWS, *OURS], "gitlab-ci": [GITLAB]}
_MAKE = re.compile(r"^\s*(?:- )?(?:run: )?(make .+)$", re.MULTILINE)
_USES = re.compile(r"uses: (\S+)(.*)")


@pytest.fixture(scope="module")
def actionlint() -> Path:
    """The program, built in half a minute where it is missing."""
    module = GoModule("actionlint", MODULES / "actionlint")
    if not module.is_built:
        go_build.build(module, Step("actionlint"))
    return module.path("actionlint")


def _linted(actionlint: Path, *files: Path) -> str:
    # Its other checkers are programs of their own, which a machine may have or not.
    return subprocess.run(
        [actionlint, "-no-color", "-oneline", "-shellcheck=", "-pyflakes=", *files], capture_output=True, text=True
    ).stdout


@BUILT
def test_the_workflows_are_valid(actionlint: Path) -> None:
    assert _linted(actionlint, *WORKFLOWS, *OURS) == ""


@BUILT
def test_a_workflow_with_a_mistake_is_found(actionlint: Path, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.yml"
    wrong.write_text((CI / "github/preview.yml").read_text().replace("matrix.stack", "matrix.stak"))
    assert 'property "stak" is not defined' in _linted(actionlint, wrong)


@pytest.mark.parametrize("schema", _SCHEMAS)
def test_each_file_is_valid_by_its_published_schema(schema: str, tmp_path: Path) -> None:
    right = _checked(schema, *_SCHEMAS[schema])
    assert right.returncode == 0, right.stdout
    wrong = {tmp_path / f"{number}.yml": file for number, file in enumerate(_SCHEMAS[schema])}
    for path, file in wrong.items():
        path.write_text(re.sub(r"(runs-on|stages): .*", r"\1: 3", file.read_text()))
    told = _checked(schema, *wrong).stdout
    assert [file for path, file in wrong.items() if f"{path}::" not in told] == []


def _checked(schema: str, *files: Path) -> subprocess.CompletedProcess[str]:
    program = Path(sys.executable).with_name("check-jsonschema")
    return subprocess.run([program, "--builtin-schema", f"vendor.{schema}", *files], capture_output=True, text=True)


def test_every_action_is_pinned_by_its_commit_with_its_version() -> None:
    used = [found for path in (*WORKFLOWS, *OURS) for found in _USES.findall(path.read_text())]
    assert len(used) > 10
    assert [name for name, rest in used if not re.fullmatch(r"[\w.-]+/[\w.-]+@[0-9a-f]{40}", name)] == []
    assert [name for name, rest in used if not re.fullmatch(r" # v\d+\.\d+\.\d+", rest)] == []
    commits: dict[str, set[str]] = {}
    for name, _ in used:
        commits.setdefault(name.partition("@")[0], set()).add(name)
    assert {name: found for name, found in commits.items() if len(found) > 1} == {}, "one version of each"


@pytest.mark.parametrize("file", [*WORKFLOWS, GITLAB], ids=lambda path: path.name)
def test_every_command_is_one_that_users_have(file: Path) -> None:
    found = [line.replace('"$STACK"', "prod").replace('"$BASE"', "main") for line in _MAKE.findall(file.read_text())]
    assert bool(found) == (file.name != "preview-comment.yml")
    assert [problem for line in found for command in parsed(line) for problem in problems(command)] == []


def test_what_runs_code_of_a_pull_request_may_write_nothing_and_what_posts_runs_none() -> None:
    preview, comment = (
        yaml.safe_load((CI / f"github/{name}.yml").read_text()) for name in ("preview", "preview-comment")
    )
    assert "pull_request_target" not in str(preview)
    (job,) = preview["jobs"].values()
    assert job["permissions"] == {"contents": "read", "id-token": "write"}
    guarded = [step for step in job["steps"] if "secrets." in str(step) or "role-to-assume" in str(step)]
    assert guarded
    assert all(step["if"] == "env.TRUSTED == 'true'" for step in guarded)
    (poster,) = comment["jobs"].values()
    assert comment["permissions"] == {}
    assert poster["permissions"] == {"actions": "read", "pull-requests": "write"}
    assert not any("checkout" in str(step) for step in poster["steps"])
    # An expression in a script would run what its value says.
    assert [step["run"] for step in _runs(preview, comment) if "${{" in step["run"]] == []


def _runs(*workflows: Any) -> Iterator[Any]:
    for workflow in workflows:
        for job in workflow["jobs"].values():
            yield from (step for step in job["steps"] if "run" in step)


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
        """Runs the step that posts."""
        (self.folder / "reports/preview-prod/preview.md").write_text(report)
        (self.folder / "reports/preview-prod/number").write_text(f"{number}\n")
        (step,) = _runs(yaml.safe_load((CI / "github/preview-comment.yml").read_text()))
        path = f"{self.folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
        given = {**os.environ, "PATH": path, "REPOSITORY": "acme/stacks", "HEAD": "abc", "GH_TOKEN": "t"}
        return subprocess.run(
            ["bash", "-e", "-o", "pipefail", "-c", step["run"]],
            cwd=self.folder,
            env=given,
            capture_output=True,
            text=True,
        )

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
    assert (tmp_path / "body.md").read_text() == "<!-- tensorplane preview -->\n# Preview of stack `prod`\n"


def test_a_long_report_is_cut_to_what_github_takes(tmp_path: Path) -> None:
    assert GitHub(tmp_path).post("x" * 100_000).returncode == 0
    body = (tmp_path / "body.md").read_text()
    assert len(body) < 65_536
    assert body.endswith("see the artifacts of the workflow run.\n")


def test_a_report_of_another_commit_or_of_no_pull_request_is_not_posted(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    superseded = GitHub(tmp_path / "a", head="def")
    assert superseded.post("# Preview").stdout == "superseded\n"
    assert "comments" not in superseded.last
    forged = GitHub(tmp_path / "b").post("# Preview", number="7/../../x")
    assert (forged.returncode, forged.stdout) == (1, "the report names no pull request\n")


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
    program = tmp_path / "bin/curl"
    program.parent.mkdir()
    program.write_text(f'#!/bin/bash\necho "$*" >>calls\ncase "$*" in *--request*) ;; *) echo \'{notes}\' ;; esac\n')
    program.chmod(0o755)
    (tmp_path / "preview.md").write_text("# Preview of stack `prod`\n")
    (script,) = yaml.safe_load(GITLAB.read_text())["preview"]["after_script"]
    given = {"CI_API_V4_URL": "https://api", "CI_PROJECT_ID": "7", "CI_MERGE_REQUEST_IID": "3", "STACK": "prod"}
    given["PATH"] = os.pathsep.join([str(program.parent), os.environ["PATH"]])
    subprocess.run(["bash", "-c", script], cwd=tmp_path, env=given, check=True)
    assert not (tmp_path / "calls").exists(), "a fork has no token"
    subprocess.run(["bash", "-c", script], cwd=tmp_path, env={**given, "COMMENT_TOKEN": "t"}, check=True)
    _, call = (tmp_path / "calls").read_text().splitlines()
    expected = asked.replace("/notes", "/projects/7/merge_requests/3/notes")
    assert call.removeprefix("--fail --silent --show-error --output /dev/null ") == expected
    assert (tmp_path / "body.md").read_text() == "<!-- tensorplane preview of prod -->\n# Preview of stack `prod`\n"
