"""The real engine previews changed settings of a deployed training job: the report says what becomes of its run."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tensorplane.cli.commands.preview import render
from tensorplane.cli.commands.preview.engine import Preview
from tensorplane.cli.commands.preview.report import Report
from tensorplane.driver.stack_settings import StackSettings
from tests.hosts.engine import Engine
from tests.recorded import stacks

DECISIVE = """\
      command: [python3, train.py]
      files: {train.py: examples/digits/train.py}
      env: {STEPS: 300}
"""
OTHER = """\
      command: [python3, train.py, --fast]
      files: {train.py: examples/digits/data.py}
      env: {STEPS: 400, SEED: 7}
"""
SETTINGS = f"""\
config:
  tensorplane:cluster: {{kind: existing, context: nowhere}}
  tensorplane:controllers: {{kueue: present, jobset: present}}
  tensorplane:volumes:
    models: {{sizeGib: 1, path: /models}}
  tensorplane:workloads:
    digits:
      kind: trainingJob
      strategy: {{kind: multiWorkerMirrored, workers: 2}}
{DECISIVE}\
      resources: {{memoryGib: 1}}
      volumes: {{models: {{}}}}
      checkpoints: {{volume: models}}
"""

Changed = Callable[[str, str], Report]


@pytest.fixture(scope="module")
def changed(engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Changed]:
    """The preview of a stack of which one text of its settings, which are deployed, is replaced by another."""
    root = tmp_path_factory.mktemp("runs")
    (root / "engine").mkdir()
    (root / "settings.yaml").write_text(SETTINGS)
    with stacks.opened(root / "engine") as project:
        project.add("dev", root / "settings.yaml")
        project.deploy("dev")
        preview = Preview(
            StackSettings("dev", root / "home", project.folder),
            Path(shutil.which("pulumi", path=project.environment["PATH"]) or ""),
            project.environment,
        )

        def after(old: str, new: str) -> Report:
            assert old in SETTINGS
            (project.folder / "Pulumi.dev.yaml").write_text(SETTINGS.replace(old, new))
            return preview.run()

        yield after


TOLD = pytest.mark.nightly("the words are told without an engine: 7 s of engine each")
LAST = (
    "restarts digits from its last checkpoint, saved every 100 steps; "
    "if it has already finished, its new pods exit at once"
)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        pytest.param("STEPS", "STEPS", (), id="nothing", marks=TOLD),
        pytest.param("memoryGib: 1", "memoryGib: 2", (LAST,), id="memory", marks=TOLD),
        pytest.param(
            "workers: 2",
            "workers: 4",
            (f"{LAST}; workers 2 → 4: results may differ in the last digits",),
            id="workers",
        ),
        pytest.param(
            DECISIVE,
            OTHER,
            ("new run of digits: command, files, env SEED and env STEPS changed",),
            id="what decides the result",
            marks=TOLD,
        ),
    ],
)
def test_the_preview_says_what_becomes_of_a_run(changed: Changed, old: str, new: str, said: tuple[str, ...]) -> None:
    found = changed(old, new)
    assert (found.runs, found.errors) == (said, ())
    assert ("## Training runs" in render.markdown(found)) == bool(said)
