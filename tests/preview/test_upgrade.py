"""`tensorplane upgrade` on a stack that the real engine deployed: what the next update does to it."""

from __future__ import annotations

import shutil
from pathlib import Path

from tensorplane.cli.commands.preview.engine import Preview
from tensorplane.cli.commands.upgrade import command
from tensorplane.driver.stack_settings import StackSettings
from tensorplane.version import __version__
from tests.hosts.engine import Engine
from tests.recorded import stacks

SETTINGS = """\
config:
  tensorplane:cluster: {kind: existing, context: nowhere}
  tensorplane:volumes:
    models: {sizeGib: 1, path: /models}
  tensorplane:workloads:
    digits:
      kind: modelServer
      model: {volume: models, path: digits}
"""


def test_what_an_update_does_is_said_before_it(engine: Engine, tmp_path: Path) -> None:
    (tmp_path / "engine").mkdir()
    file = tmp_path / "settings.yaml"
    file.write_text(SETTINGS)
    with stacks.opened(tmp_path / "engine") as project:
        project.add("dev", file)
        project.deploy("dev")
        preview = Preview(
            StackSettings("dev", tmp_path / "home", project.folder),
            Path(shutil.which("pulumi", path=project.environment["PATH"]) or ""),
            project.environment,
        )
        written = project.folder / "Pulumi.dev.yaml"
        same = command.of_preview(preview, written)
        written.write_text(SETTINGS.replace("path: digits}", "path: digits}\n      image: a/server:2.20.1"))
        other = command.of_preview(preview, written)
    assert same.exit_code == 0, same
    assert (same.deployed_by, same.created, same.updated, same.changed_settings) == (__version__, 0, 0, ())
    assert (other.exit_code, other.changed_settings) == (command.CHANGES, ("workloads",)), other.refused
    assert [line.partition(":")[0] for line in other.restarted] == ["Deployment digits"]
    assert not (other.replaced or other.deleted or other.refused)
