"""The files of examples/ci and .github are valid, pin what they use, call what exists, and have no right to spare."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tensorplane.core.paths import PROJECT
from tensorplane.core.step import Step
from tensorplane.toolchain import go_build
from tensorplane.toolchain.go_module import GoModule
from tensorplane.toolchain.golang import MODULES
from tensorplane.version import __version__
from tests.support.checked_commands import problems
from tests.support.documented import parsed

CI = PROJECT / "examples" / "ci"
WORKFLOWS = sorted((CI / "github").glob("*.yml"))
GITHUB = PROJECT / ".github"
OURS = sorted((GITHUB / "workflows").glob("*.yml"))
NEW = sorted((PROJECT / "cli/commands/new/project/dot-github/workflows").glob("*.yml"))
"""Of the project that `tensorplane new` writes."""
FORMS = sorted(path for path in (GITHUB / "ISSUE_TEMPLATE").glob("*.yml") if path.name != "config.yml")
GITLAB = CI / "gitlab-ci.yml"
BUILT = pytest.mark.nightly("builds actionlint, half a minute; the published schemas tell most of it")
_SCHEMAS = {"github-workflows": [*WORKFLOWS, *OURS, *NEW], "gitlab-ci": [GITLAB], "github-issue-forms": FORMS}
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
    assert _linted(actionlint, *WORKFLOWS, *OURS, *NEW) == ""


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
        path.write_text(re.sub(r"(runs-on|stages|label): .*", r"\1: 3", file.read_text()))
    told = _checked(schema, *wrong).stdout
    assert [file for path, file in wrong.items() if f"{path}::" not in told] == []


def _checked(schema: str, *files: Path) -> subprocess.CompletedProcess[str]:
    program = Path(sys.executable).with_name("check-jsonschema")
    return subprocess.run([program, "--builtin-schema", f"vendor.{schema}", *files], capture_output=True, text=True)


def test_every_action_is_pinned_by_its_commit_with_its_version() -> None:
    used = [found for path in (*WORKFLOWS, *OURS, *NEW) for found in _USES.findall(path.read_text())]
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


@pytest.mark.parametrize("file", OURS, ids=lambda path: path.name)
def test_no_job_that_may_write_or_sign_runs_code_of_this_repository(file: Path) -> None:
    workflow = yaml.safe_load(file.read_text())
    assert workflow["permissions"] in ({}, {"contents": "read"})
    with_rights = [job for job in workflow["jobs"].values() if "write" in job.get("permissions", {}).values()]
    assert bool(with_rights) == (file.name == "release.yml")
    assert not any("checkout" in str(step.get("uses")) for job in with_rights for step in job["steps"])
    assert [step["run"] for step in _runs(workflow) if "${{" in step["run"]] == []


def test_a_release_is_of_the_version_that_its_tag_names_and_has_notes() -> None:
    program = [sys.executable, str(GITHUB / "release_notes.py")]
    right = subprocess.run([*program, f"v{__version__}"], capture_output=True, text=True)
    assert right.returncode == 0
    (PROJECT / "CHANGELOG.md").read_text().index(right.stdout)
    assert "\n## " not in right.stdout
    wrong = subprocess.run([*program, "v99.0.0"], capture_output=True, text=True)
    assert (wrong.returncode, wrong.stdout) == (1, "")
    assert wrong.stderr.startswith(f"v99.0.0: runtime/tensorplane/version.py has {__version__}; tag v{__version__}")


def _runs(*workflows: Any) -> Iterator[Any]:
    for workflow in workflows:
        for job in workflow["jobs"].values():
            yield from (step for step in job["steps"] if "run" in step)
