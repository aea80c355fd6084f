"""Programs in the documentation run as they are printed."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
import tensorflow as tf

from tensorplane.core.paths import PROJECT
from tests.runtime.launching import environments, gang

ONE_PROCESS, TWO_WORKERS, EVALUATOR = range(3)
KERAS_FIT, LOOP, INPUT = range(3)


def _program(page: str, index: int) -> str:
    """The Python block of a page with this index."""
    blocks = re.findall(r"(?ms)^```python\n(.*?)^```", (PROJECT / "docs" / page).read_text())
    return str(blocks[index])


def _outputs(program: str, folder: Path, tasks: Sequence[Mapping[str, str]] = ({},)) -> list[str]:
    """What each process of the program prints. All must succeed."""
    (folder / "models").mkdir(exist_ok=True)
    of_run = {"CHECKPOINT_DIR": str(folder / "guide"), "CHECKPOINT_STEPS": "20", "MODEL_DIR": str(folder / "models")}
    with gang(folder, program, tasks=tasks, STEPS="100", **of_run) as started:
        assert started.finish() == [0] * len(tasks), started.output[-3000:]
    return started.outputs


def test_the_guide_changes_three_lines_and_publishes() -> None:
    before, after = (
        _program("training.md", ONE_PROCESS).splitlines(),
        _program("training.md", TWO_WORKERS).splitlines(),
    )
    added = [line for line in after if line.strip() and line.strip() not in {each.strip() for each in before}]
    assert [line.split("(")[0] for line in added] == [
        "import tensorplane",
        "with tensorplane.strategy",
        "tensorplane.fit",
        "tensorplane.publish",
    ]


def test_the_guides_program_runs_in_one_process(tmp_path: Path) -> None:
    _outputs(_program("training.md", ONE_PROCESS), tmp_path)


def test_the_guides_program_trains_on_two_workers_and_publishes_while_an_evaluator_measures(tmp_path: Path) -> None:
    chief, other = _outputs(_program("training.md", TWO_WORKERS), tmp_path, environments(2))
    assert "step=80 " in chief
    assert "step=" not in other, "the chief alone prints progress"
    model = tf.saved_model.load(str(tmp_path / "models" / "1"))
    assert float(model.serve(tf.constant([[1.0]]))[0, 0]) == pytest.approx(4, abs=1), "3 x + 1, after five epochs"
    # The evaluator goes on until its pod is ended.
    (evaluated,) = _outputs(_program("training.md", EVALUATOR) + "    break\n", tmp_path)
    (loss,) = re.findall(r"^tensorplane: step=80 held_out_loss=([\d.]+)", evaluated, re.MULTILINE)
    assert float(loss) < 1


def test_the_loop_trains_and_publishes(tmp_path: Path) -> None:
    (output,) = _outputs(_program("training-library.md", LOOP), tmp_path)
    assert "version=1 resumed=False" in output


@pytest.mark.nightly("nearly the program of the guide, which `make test` runs")
def test_keras_fit_trains_on_two_workers(tmp_path: Path) -> None:
    chief, _ = _outputs(_program("training-library.md", KERAS_FIT), tmp_path, environments(2))
    assert "step=48 " in chief


def test_the_input_decodes_images_into_its_cache(tmp_path: Path) -> None:
    for name in ("a.jpg", "b.jpg"):
        (tmp_path / name).write_bytes(tf.io.encode_jpeg(tf.zeros([8, 8, 3], tf.uint8)).numpy())
    program = _program("training-library.md", INPUT).replace("/data/cache", str(tmp_path / "cache"))
    (output,) = _outputs(f"{program}\nprint(next(iter(batches))[0].shape)", tmp_path)
    assert "(64, 96, 96, 3)" in output
    assert any((tmp_path / "cache").rglob("*")), "decoded samples are kept"
