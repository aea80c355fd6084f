"""The documented commands of plain Pulumi with the policy pack, as printed, in a shell that has read `activate`."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from tensorplane.core.paths import PROJECT
from tensorplane.plugins.hosts import shell
from tests.policies.preview_provider import Servicer
from tests.policies.previews import DEV
from tests.recorded import stacks
from tests.support.documented import commands, texts

pytestmark = pytest.mark.nightly("six runs of the engine, of stacks that test_recordings previews")
ORDER = ("preview", "up", "policy")
"""Of subcommands: what judges a state comes last."""


def documented() -> dict[str, list[list[str]]]:
    """The commands by stack, without `pulumi`."""
    found: dict[str, list[list[str]]] = {}
    shown = {each.words[1:] for text in texts().values() for each in commands(text) if "--policy-pack" in each.words}
    for words in sorted(shown, key=lambda one: (ORDER.index(one[0]), one)):
        found.setdefault(words[words.index("--stack") + 1], []).append(list(words))
    return found


def test_the_pages_show_them_of_a_cloud_and_of_the_embedded_cluster() -> None:
    assert {stack: [words[0] for words in shown] for stack, shown in documented().items()} == {
        "dev": ["preview", "up", "policy"],
        "mine": ["up"],
        "prod": ["preview", "up"],
    }


@pytest.mark.parametrize("stack", documented())
def test_it_works_as_printed(stack: str, tmp_path: Path) -> None:
    script = tmp_path / "venv" / "bin" / "activate"
    script.parent.mkdir(parents=True)
    script.touch()
    (tmp_path / "engine").mkdir()
    with stacks.opened(tmp_path / "engine", servicer=Servicer()) as project:
        shell.activate(tmp_path / "venv", home=tmp_path / "home", pulumi=Path("/bin/false"))
        own = PROJECT / f"Pulumi.{stack}.yaml"
        project.add(stack, own if own.exists() else DEV)
        for words in documented()[stack]:
            asked = ["--yes"] if words[0] == "up" else []
            command = shlex.join(["pulumi", *words, *asked, "--non-interactive", "--color=never"])
            done = subprocess.run(
                ["bash", "-c", f". {shlex.quote(str(script))}; {command}"],
                cwd=project.folder,
                env=dict(project.environment),
                capture_output=True,
                text=True,
            )
            assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
            assert "tensorplane@v" in done.stdout, f"{command}\n{done.stdout}"


def test_without_activate_a_cluster_that_does_not_exist_is_refused_with_the_remedy(tmp_path: Path) -> None:
    with stacks.opened(tmp_path, servicer=Servicer()) as project:
        shutil.copyfile(PROJECT / "Pulumi.prod.yaml", project.folder / "Pulumi.prod.yaml")
        project.add("prod")
        done = subprocess.run(
            ["pulumi", *documented()["prod"][0], "--non-interactive", "--color=never"],
            cwd=project.folder,
            env=dict(project.environment),
            capture_output=True,
            text=True,
        )
    assert done.returncode
    assert done.stdout.count("[mandatory]") == 1, done.stdout
    assert "run `tensorplane preview --stack prod`, or set PULUMI_LEGACY_PROVIDER_PREVIEW=1" in done.stdout
