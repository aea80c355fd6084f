"""`tensorplane new`: a project whose settings are valid as they are, and nothing overwritten."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest
import yaml

from tensorplane import stack
from tensorplane.cli.__main__ import main
from tensorplane.cli.commands.new import command
from tensorplane.components.base.settings import Settings
from tensorplane.core import extras
from tensorplane.driver import digits_demo
from tensorplane.version import __version__
from tests.policies.conftest import Judge, refusals
from tests.policies.conftest import judge as judge
from tests.policies.recordings import of_rendered
from tests.support.rendering import PROJECT, run, settings_of

_FILES = [
    *(".github/workflows/preview.yml", ".gitignore", "Pulumi.dev.yaml", "Pulumi.yaml", "README.md", "__main__.py"),
    *("policies/config.dev.json", "requirements.txt"),
]


@pytest.fixture
def made(tmp_path: Path) -> Path:
    """A new project, in a folder with a space."""
    folder = tmp_path / "of a team" / "vision"
    command.write(folder)
    return folder


def test_it_is_a_project_of_eight_files_that_pins_this_version(made: Path) -> None:
    assert sorted(str(path.relative_to(made)) for path in made.rglob("*") if path.is_file()) == _FILES
    assert (made / "requirements.txt").read_text() == f"tensorplane[dev]=={__version__}\n"
    assert yaml.safe_load((made / "Pulumi.yaml").read_text())["name"] == "vision"
    assert (made / "README.md").read_text().startswith("# vision\n")
    assert len((made / "__main__.py").read_text().splitlines()) == 3
    program = (PROJECT / "__main__.py").read_text()
    assert program.endswith((made / "__main__.py").read_text()), "this repository is such a project"


def test_its_stack_trains_the_example_and_serves_it_within_the_policies(made: Path, judge: Judge) -> None:
    settings = settings_of(made / "Pulumi.dev.yaml")
    assert digits_demo.find(settings.tree["workloads"]) == ("digits", "digits-server")
    rendered = run(lambda: stack.build(stack.load(Settings(settings.tree, folder=made), made)))
    files = rendered.one("core/v1:ConfigMap", "digits-files").inputs
    assert sorted({*files["data"], *files["binaryData"]}) == ["0.data.py", "1.digits.csv.gz", "2.train.py"]
    config = yaml.safe_load((made / "policies" / "config.dev.json").read_text())
    assert refusals(judge, of_rendered(rendered), config) == {}


def test_commands_in_it_are_about_it(made: Path) -> None:
    """As somebody types them, in a folder below it."""
    (made / "Pulumi.dev.yaml").write_text("config:\n  volumes: {models: {sizeGib: 1}}\n")
    argv = [sys.executable, "-m", "tensorplane.cli"]
    python_path = {"PYTHONPATH": str(PROJECT / "runtime")}

    def said(*words: str) -> str:
        folder = made / "policies"
        done = subprocess.run([*argv, *words], cwd=folder, env=os.environ | python_path, capture_output=True, text=True)
        return (done.stdout + done.stderr).strip()

    problem = "'volumes' has no prefix, so Pulumi reads vision:volumes; write tensorplane:volumes"
    assert said("check", "--no-machine") == f"Pulumi.dev.yaml: {problem}"
    assert said("check", "--stack", "prod") == "stack prod: Pulumi.prod.yaml does not exist; choose one of dev"
    (made / "Pulumi.prod.yaml").write_text("config:\n  tensorplane:cluster: {kind: eks}\n")
    assert said("down", "--stack", "prod").startswith("--stack prod: `tensorplane down` only works on the embedded")
    (made / "Pulumi.dev.yaml").unlink()
    assert said("check", "--no-machine").startswith("tensorplane:cluster.region: "), "the only stack"
    (made / "Pulumi.prod.yaml").unlink()
    where = "run this in a project's folder (members of teams: docs/running-jobs.md)"
    assert said("tiers") == f"stack dev: Pulumi.dev.yaml does not exist; {where}"


def test_a_folder_with_other_files_stays_as_it_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in (".git", ".venv"):
        (tmp_path / name).mkdir()
    (tmp_path / ".venv" / "pyvenv.cfg").write_text("")
    (tmp_path / "notes.txt").write_text("mine")
    assert main(["new", str(tmp_path), "--name", "a platform"]) == 1
    assert capsys.readouterr().err.splitlines() == [
        "a platform: a project's name has 1 to 100 letters, digits, dashes, underscores and periods; choose another "
        "with --name",
        f"{tmp_path}: is not empty, it has notes.txt; name a new folder",
    ]
    assert sorted(path.name for path in tmp_path.iterdir()) == [".git", ".venv", "notes.txt"]
    (tmp_path / "notes.txt").unlink()
    assert main(["new", str(tmp_path), "--name", "platform"]) == 0
    assert capsys.readouterr().out.splitlines()[0] == f"cd {tmp_path}"
    assert main(["new", str(tmp_path / "README.md")]) == 1
    assert capsys.readouterr().err == f"{tmp_path}/README.md: is a file; name a new folder\n"


def test_a_version_that_is_on_no_index_is_pinned_by_where_it_came_from(monkeypatch: pytest.MonkeyPatch) -> None:
    repository = '{"url": "https://example.org/t.git", "vcs_info": {"vcs": "git", "commit_id": "c0ffee"}}'
    for origin, pin in (
        (repository, "tensorplane[dev] @ git+https://example.org/t.git@c0ffee"),
        ('{"url": "https://example.org/t.whl", "archive_info": {}}', "tensorplane[dev] @ https://example.org/t.whl"),
        ('{"url": "file:///home/me/t.whl", "archive_info": {}}', f"tensorplane[dev]=={__version__}"),
        (None, f"tensorplane[dev]=={__version__}"),
    ):
        installed = type("Installed", (), {"read_text": lambda _, name, text=origin: text})
        monkeypatch.setattr(metadata, "distribution", lambda name, found=installed: found())
        assert extras.pinned("dev") == pin
